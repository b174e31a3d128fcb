(: Boston asks: which symptoms had the patients admitted with a pulmonary illness? :)
FOR $P IN //Progress,
    $Y IN //Pulmonary
WHERE $Y/@ID=$P/@PatRef
RETURN {$P/Symptom/Desc}
