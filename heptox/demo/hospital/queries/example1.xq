(: Montreal asks: which patients admitted with a coronary illness were treated on 25 December 2003? :)
FOR $A IN //Admission,
    $P IN //Patient[@ID=$A/@PatRef]
WHERE $A/Problem="Coronary" AND
      $P/Treat/Date="12/25/2003"
RETURN {$P/Name}
