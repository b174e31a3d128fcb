let $auction := (/) return for $b in $auction/site/people/person[@id = "person0"] return $b/name/text()
--
let $auction := (/) return for $b in $auction/site/open_auctions/open_auction return <increase>{$b/bidder[1]/increase/text()}</increase>
--
let $auction := (/) return
for $b in $auction/site/open_auctions/open_auction
where zero-or-one($b/bidder[1]/increase/text()) * 2 <= $b/bidder[last()]/increase/text()
return <increase first="{$b/bidder[1]/increase/text()}" last="{$b/bidder[last()]/increase/text()}"/>
--
let $auction := (/) return
for $b in $auction/site/open_auctions/open_auction
where some $pr1 in $b/bidder/personref[@person = "person20"], $pr2 in $b/bidder/personref[@person = "person51"] satisfies $pr1 << $pr2
return <history>{$b/reserve/text()}</history>
--
let $auction := (/) return count(for $i in $auction/site/closed_auctions/closed_auction where $i/price/text() >= 40 return $i/price)
--
let $auction := (/) return for $b in $auction//site/regions return count($b//item)
--
let $auction := (/) return for $p in $auction/site return count($p//description) + count($p//annotation) + count($p//emailaddress)
--
let $auction := (/) return
for $p in $auction/site/people/person
let $a := for $t in $auction/site/closed_auctions/closed_auction where $t/buyer/@person = $p/@id return $t
return <item person="{$p/name/text()}">{count($a)}</item>
--
let $auction := (/) return let $ca := $auction/site/closed_auctions/closed_auction return
let $ei := $auction/site/regions/europe/item
for $p in $auction/site/people/person
let $a := for $t in $ca where $p/@id = $t/buyer/@person
          return let $n := for $t2 in $ei where $t/itemref/@item = $t2/@id return $t2 return <item>{$n/name/text()}</item>
return <person name="{$p/name/text()}">{$a}</person>
--
let $auction := (/) return
for $i in distinct-values($auction/site/people/person/profile/interest/@category)
let $p := for $t in $auction/site/people/person where $t/profile/interest/@category = $i
          return <personne><statistiques><sexe>{$t/profile/gender/text()}</sexe><age>{$t/profile/age/text()}</age><education>{$t/profile/education/text()}</education><revenu>{fn:data($t/profile/@income)}</revenu></statistiques><coordonnees><nom>{$t/name/text()}</nom><ville>{$t/address/city/text()}</ville></coordonnees><cartePaiement>{$t/creditcard/text()}</cartePaiement></personne>
return <categorie>{<id>{$i}</id>, $p}</categorie>
--
let $auction := (/) return
for $p in $auction/site/people/person
let $l := for $i in $auction/site/open_auctions/open_auction/initial where number($p/profile/@income) > 5000 * number(exactly-one($i/text())) return $i
return <items name="{$p/name/text()}">{count($l)}</items>
--
let $auction := (/) return
for $p in $auction/site/people/person
let $l := for $i in $auction/site/open_auctions/open_auction/initial where number($p/profile/@income) > 5000 * number(exactly-one($i/text())) return $i
where number($p/profile/@income) > 50000
return <items person="{$p/profile/@income}">{count($l)}</items>
--
let $auction := (/) return for $i in $auction/site/regions/australia/item return <item name="{$i/name/text()}">{$i/description}</item>
--
let $auction := (/) return for $i in $auction/site//item where contains(string(exactly-one($i/description)), "a") return $i/name/text()
--
let $auction := (/) return
for $a in $auction/site/closed_auctions/closed_auction/annotation/description/parlist/listitem/parlist/listitem/text/emph/keyword/text()
return <text>{$a}</text>
--
let $auction := (/) return
for $a in $auction/site/closed_auctions/closed_auction
where not(empty($a/annotation/description/parlist/listitem/parlist/listitem/text/emph/keyword/text()))
return <person id="{$a/seller/@person}"/>
--
let $auction := (/) return for $p in $auction/site/people/person where empty($p/homepage/text()) return <person name="{$p/name/text()}"/>
--
let $auction := (/) return let $convert := function($v as xs:string?) as xs:decimal? { 2.20371 * xs:decimal($v) }
for $i in $auction/site/open_auctions/open_auction return string($i/reserve)[. castable as xs:decimal] ! $convert(.)
--
let $auction := (/) return
for $b in $auction/site/regions//item let $k := $b/name/text()
order by zero-or-one($b/location) ascending empty greatest
return <item name="{$k}">{$b/location/text()}</item>
--
let $auction := (/) return
<result>
 <preferred>{count($auction/site/people/person/profile[@income[number() >= 100000]])}</preferred>
 <standard>{count($auction/site/people/person/profile[@income[number() < 100000 and number() >= 30000]])}</standard>
 <challenge>{count($auction/site/people/person/profile[@income[number() < 30000]])}</challenge>
 <na>{count(for $p in $auction/site/people/person where empty($p/profile/@income) return $p)}</na>
</result>
