for $p in /site/people/person
where $p/@id = "person3"
return <found>{$p/name}{$p/emailaddress}</found>
