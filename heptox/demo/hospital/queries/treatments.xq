(: Montreal asks: how were the patients with a pulmonary illness treated, and who are they? :)
for $a in //Admission, $p in //Patient[@ID = $a/@PatRef], $t in $p/Treat
where $a/Problem = "Pulmonary"
return <treated><Name>{data($p/Name)}</Name><Date>{data($t/Date)}</Date><Desc>{data($t/Desc)}</Desc></treated>
