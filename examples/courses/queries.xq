(: over reed: what an instructor teaches :)
//course[instructor = "Jones" or instructor = "JOHNSON"]/title

(: reed-uwm: 7 items :)
(
  for $c in //course_listing
  where $c/section_listing/instructor = "Jones"
  return <title>{data($c/title)}</title>,
  for $c in //course_listing
  where $c/section_listing/instructor = "JOHNSON"
  return <title>{data($c/title)}</title>
)

(: uwm-reed: 7 items :)
(
  for $c in //course_listing
  where $c/section_listing/instructor = "Jones"
  return <title>{data($c/title)}</title>,
  for $c in //course_listing
  where $c/section_listing/instructor = "JOHNSON"
  return <title>{data($c/title)}</title>
)

(: reed-wsu: 29 items :)
(
  for $c in //course
  where $c/instructor = "Jones"
  return <title>{data($c/title)}</title>,
  for $c in //course
  where $c/instructor = "JOHNSON"
  return <title>{data($c/title)}</title>
)

(: wsu-reed: 29 items :)
(
  for $c in //course
  where $c/instructor = "Jones"
  return <title>{data($c/title)}</title>,
  for $c in //course
  where $c/instructor = "JOHNSON"
  return <title>{data($c/title)}</title>
)

====

(: over reed: when and where chemistry is taught :)
for $c in //course where $c/subj = "CHEM"
return <lecture>{$c/title}{$c/days}{$c/time/start_time}{$c/place/building}</lecture>

(: reed-uwm: 0 items :)
(: lost: course/subj: no arrow supplies it, and the query needs it :)
()

(: uwm-reed: 0 items :)
(: lost: course/subj: no arrow supplies it, and the query needs it :)
()

(: reed-wsu: 72 items :)
for $c in //course
where $c/prefix = "CHEM"
return <lecture><title>{data($c/title)}</title><days>{data($c/days)}</days><start_time>{data($c/times/start)}</start_time><building>{data($c/place/bldg)}</building></lecture>

(: wsu-reed: 72 items :)
for $c in //course
where $c/prefix = "CHEM"
return <lecture><title>{data($c/title)}</title><days>{data($c/days)}</days><start_time>{data($c/times/start)}</start_time><building>{data($c/place/bldg)}</building></lecture>

====

(: over reed: courses on Wednesdays, with their registration :)
for $c in //course where $c/days = "W" return <once>{$c/reg_num}{$c/title}</once>

(: reed-uwm: 292 items :)
(: lost: course/reg_num: no arrow supplies it: its place in the answer stays empty :)
for $c in //course_listing
where $c/section_listing/days = "W"
return <once><title>{data($c/title)}</title></once>

(: uwm-reed: 292 items :)
(: lost: course/reg_num: no arrow supplies it: its place in the answer stays empty :)
for $c in //course_listing
where $c/section_listing/days = "W"
return <once><title>{data($c/title)}</title></once>

(: reed-wsu: 183 items :)
for $c in //course
where $c/days = "W"
return <once><reg_num>{data($c/sln)}</reg_num><title>{data($c/title)}</title></once>

(: wsu-reed: 183 items :)
for $c in //course
where $c/days = "W"
return <once><reg_num>{data($c/sln)}</reg_num><title>{data($c/title)}</title></once>

====

(: over reed: different courses in one room at one time :)
for $c in //course,
    $d in //course[place/room = $c/place/room][place/building = $c/place/building][time/start_time = $c/time/start_time]
where $c/place/room = "120" and $c/days = $d/days and $c/title != $d/title
return <clash>{$c/days}{$c/time/start_time}{data($c/title)}, {data($d/title)}</clash>

(: reed-uwm: 0 items :)
for $c in //course_listing,
    $c2 in //course_listing,
    $s in $c/section_listing,
    $s2 in $c2/section_listing[bldg_and_rm/bldg = $s/bldg_and_rm/bldg][days = $s/days][hours/start = $s/hours/start]
where $c/title != $c2/title and $s/bldg_and_rm/rm = "120" and $s2/bldg_and_rm/rm = "120"
return <clash><days>{data($s/days)}</days><start_time>{data($s/hours/start)}</start_time>{data($c/title)}, {data($c2/title)}</clash>

(: uwm-reed: 0 items :)
for $c in //course_listing,
    $c2 in //course_listing,
    $s in $c/section_listing,
    $s2 in $c2/section_listing[bldg_and_rm/bldg = $s/bldg_and_rm/bldg][days = $s/days][hours/start = $s/hours/start]
where $c/title != $c2/title and $s/bldg_and_rm/rm = "120" and $s2/bldg_and_rm/rm = "120"
return <clash><days>{data($s/days)}</days><start_time>{data($s/hours/start)}</start_time>{data($c/title)}, {data($c2/title)}</clash>

(: reed-wsu: 0 items :)
for $c in //course,
    $c2 in //course[days = $c/days][place/bldg = $c/place/bldg][times/start = $c/times/start]
where $c/title != $c2/title and $c/place/room = "120" and $c2/place/room = "120"
return <clash><days>{data($c/days)}</days><start_time>{data($c/times/start)}</start_time>{data($c/title)}, {data($c2/title)}</clash>

(: wsu-reed: 0 items :)
for $c in //course,
    $c2 in //course[days = $c/days][place/bldg = $c/place/bldg][times/start = $c/times/start]
where $c/title != $c2/title and $c/place/room = "120" and $c2/place/room = "120"
return <clash><days>{data($c/days)}</days><start_time>{data($c/times/start)}</start_time>{data($c/title)}, {data($c2/title)}</clash>

====

(: over reed: buildings, under their own name or not :)
//place/building

(: reed-uwm: 27 items :)
for $b in //section_listing/bldg_and_rm/bldg
return <building>{data($b)}</building>

(: uwm-reed: 27 items :)
for $b in //section_listing/bldg_and_rm/bldg
return <building>{data($b)}</building>

(: reed-wsu: 80 items :)
for $b in //course/place/bldg
return <building>{data($b)}</building>

(: wsu-reed: 80 items :)
for $b in //course/place/bldg
return <building>{data($b)}</building>

====

(: over uwm: the sections of an instructor :)
for $c in //course_listing, $s in $c/section_listing
where $s/instructor = "Jones" or $s/instructor = "JOHNSON"
return <taught>{$c/title}{$s/section}{$s/days}{$s/hours/start}</taught>

(: reed-uwm: 7 items :)
(
  for $c in //course
  where $c/instructor = "Jones"
  return <taught><title>{data($c/title)}</title><section>{data($c/sect)}</section><days>{data($c/days)}</days><start>{data($c/time/start_time)}</start></taught>,
  for $c in //course
  where $c/instructor = "JOHNSON"
  return <taught><title>{data($c/title)}</title><section>{data($c/sect)}</section><days>{data($c/days)}</days><start>{data($c/time/start_time)}</start></taught>
)

(: uwm-reed: 7 items :)
(
  for $c in //course
  where $c/instructor = "Jones"
  return <taught><title>{data($c/title)}</title><section>{data($c/sect)}</section><days>{data($c/days)}</days><start>{data($c/time/start_time)}</start></taught>,
  for $c in //course
  where $c/instructor = "JOHNSON"
  return <taught><title>{data($c/title)}</title><section>{data($c/sect)}</section><days>{data($c/days)}</days><start>{data($c/time/start_time)}</start></taught>
)

(: wsu-uwm: 31 items :)
(
  for $c in //course
  where $c/instructor = "Jones"
  return <taught><title>{data($c/title)}</title><section>{data($c/sect)}</section><days>{data($c/days)}</days><start>{data($c/times/start)}</start></taught>,
  for $c in //course
  where $c/instructor = "JOHNSON"
  return <taught><title>{data($c/title)}</title><section>{data($c/sect)}</section><days>{data($c/days)}</days><start>{data($c/times/start)}</start></taught>
)

(: uwm-wsu: 31 items :)
(
  for $c in //course
  where $c/instructor = "Jones"
  return <taught><title>{data($c/title)}</title><section>{data($c/sect)}</section><days>{data($c/days)}</days><start>{data($c/times/start)}</start></taught>,
  for $c in //course
  where $c/instructor = "JOHNSON"
  return <taught><title>{data($c/title)}</title><section>{data($c/sect)}</section><days>{data($c/days)}</days><start>{data($c/times/start)}</start></taught>
)

====

(: over uwm: courses with a section on Mondays and one on Wednesdays :)
for $c in //course_listing, $s in $c/section_listing, $t in $c/section_listing
where $s/days = "M" and $t/days = "W"
return <two>{$c/course}{$c/title}{data($s/section)}, {data($t/section)}</two>

(: reed-uwm: 27 items :)
for $c in //course, $c2 in //course[crse = $c/crse][title = $c/title][units = $c/units]
where $c/days = "M" and $c2/days = "W"
return <two><course>{data($c/crse)}</course><title>{data($c/title)}</title>{data($c/sect)}, {data($c2/sect)}</two>

(: uwm-reed: 27 items :)
for $c in //course, $c2 in //course[crse = $c/crse][title = $c/title][units = $c/units]
where $c/days = "M" and $c2/days = "W"
return <two><course>{data($c/crse)}</course><title>{data($c/title)}</title>{data($c/sect)}, {data($c2/sect)}</two>

(: wsu-uwm: 33 items :)
for $c in //course, $c2 in //course[credit = $c/credit][crs = $c/crs][title = $c/title]
where $c/days = "M" and $c2/days = "W"
return <two><course>{data($c/crs)}</course><title>{data($c/title)}</title>{data($c/sect)}, {data($c2/sect)}</two>

(: uwm-wsu: 33 items :)
for $c in //course, $c2 in //course[credit = $c/credit][crs = $c/crs][title = $c/title]
where $c/days = "M" and $c2/days = "W"
return <two><course>{data($c/crs)}</course><title>{data($c/title)}</title>{data($c/sect)}, {data($c2/sect)}</two>

====

(: over uwm: courses of three credits, or half a unit :)
for $c in //course_listing where $c/credits = "3" or $c/credits = "3.0" or $c/credits = "0.5" return $c/title

(: reed-uwm: 32 items :)
(
  for $c in //course
  where $c/units = "3"
  return <title>{data($c/title)}</title>,
  for $c in //course
  where $c/units = "3.0"
  return <title>{data($c/title)}</title>,
  for $c in //course
  where $c/units = "0.5"
  return <title>{data($c/title)}</title>
)

(: uwm-reed: 32 items :)
(
  for $c in //course
  where $c/units = "3"
  return <title>{data($c/title)}</title>,
  for $c in //course
  where $c/units = "3.0"
  return <title>{data($c/title)}</title>,
  for $c in //course
  where $c/units = "0.5"
  return <title>{data($c/title)}</title>
)

(: wsu-uwm: 927 items :)
(
  for $c in //course
  where $c/credit = "3"
  return <title>{data($c/title)}</title>,
  for $c in //course
  where $c/credit = "3.0"
  return <title>{data($c/title)}</title>,
  for $c in //course
  where $c/credit = "0.5"
  return <title>{data($c/title)}</title>
)

(: uwm-wsu: 927 items :)
(
  for $c in //course
  where $c/credit = "3"
  return <title>{data($c/title)}</title>,
  for $c in //course
  where $c/credit = "3.0"
  return <title>{data($c/title)}</title>,
  for $c in //course
  where $c/credit = "0.5"
  return <title>{data($c/title)}</title>
)

====

(: over uwm: graduate courses :)
//course_listing[level = "G"]/title

(: reed-uwm: 0 items :)
(: lost: course_listing/level: no arrow supplies it, and the query needs it :)
()

(: uwm-reed: 0 items :)
(: lost: course_listing/level: no arrow supplies it, and the query needs it :)
()

(: wsu-uwm: 0 items :)
(: lost: course_listing/level: no arrow supplies it, and the query needs it :)
()

(: uwm-wsu: 0 items :)
(: lost: course_listing/level: no arrow supplies it, and the query needs it :)
()

====

(: over uwm: sections without comments :)
for $c in //course_listing, $s in $c/section_listing
where empty($s/comments) and $s/days = "F"
return <section>{$c/course}{$s/section}</section>

(: reed-uwm: 15 items :)
(: lost: course_listing/section_listing/comments: no arrow supplies it: it is taken to be absent everywhere :)
for $c in //course
where $c/days = "F"
return <section><course>{data($c/crse)}</course><section>{data($c/sect)}</section></section>

(: uwm-reed: 15 items :)
(: lost: course_listing/section_listing/comments: no arrow supplies it: it is taken to be absent everywhere :)
for $c in //course
where $c/days = "F"
return <section><course>{data($c/crse)}</course><section>{data($c/sect)}</section></section>

(: wsu-uwm: 43 items :)
(: lost: course_listing/section_listing/comments: no arrow supplies it: it is taken to be absent everywhere :)
for $c in //course
where $c/days = "F"
return <section><course>{data($c/crs)}</course><section>{data($c/sect)}</section></section>

(: uwm-wsu: 43 items :)
(: lost: course_listing/section_listing/comments: no arrow supplies it: it is taken to be absent everywhere :)
for $c in //course
where $c/days = "F"
return <section><course>{data($c/crs)}</course><section>{data($c/sect)}</section></section>

====

(: over uwm: the comments on sections on Mondays :)
for $c in //course_listing, $s in $c/section_listing where $s/days = "M"
return <about>{$c/title}{$s/section}{$s/comments}</about>

(: reed-uwm: 31 items :)
(: lost: course_listing/section_listing/comments: no arrow supplies it: its place in the answer stays empty :)
for $c in //course
where $c/days = "M"
return <about><title>{data($c/title)}</title><section>{data($c/sect)}</section></about>

(: uwm-reed: 31 items :)
(: lost: course_listing/section_listing/comments: no arrow supplies it: its place in the answer stays empty :)
for $c in //course
where $c/days = "M"
return <about><title>{data($c/title)}</title><section>{data($c/sect)}</section></about>

(: wsu-uwm: 113 items :)
(: lost: course_listing/section_listing/comments: no arrow supplies it: its place in the answer stays empty :)
for $c in //course
where $c/days = "M"
return <about><title>{data($c/title)}</title><section>{data($c/sect)}</section></about>

(: uwm-wsu: 113 items :)
(: lost: course_listing/section_listing/comments: no arrow supplies it: its place in the answer stays empty :)
for $c in //course
where $c/days = "M"
return <about><title>{data($c/title)}</title><section>{data($c/sect)}</section></about>

====

(: over uwm: pages that restrictions link to :)
//restrictions/A/@HREF

(: reed-uwm: 0 items :)
(: lost: course_listing/restrictions/A: no arrow reaches it or anything below it :)
()

(: uwm-reed: 0 items :)
(: lost: course_listing/restrictions/A: no arrow reaches it or anything below it :)
()

(: wsu-uwm: 0 items :)
(: lost: course_listing/restrictions/A: no arrow reaches it or anything below it :)
()

(: uwm-wsu: 0 items :)
(: lost: course_listing/restrictions/A: no arrow reaches it or anything below it :)
()

====

(: over uwm: all hours :)
//hours/*

(: reed-uwm: 51 items :)
(
  for $s in //course/time/start_time
  return <start>{data($s)}</start>,
  for $e in //course/time/end_time
  return <end>{data($e)}</end>
)

(: uwm-reed: 51 items :)
(
  for $s in //course/time/start_time
  return <start>{data($s)}</start>,
  for $e in //course/time/end_time
  return <end>{data($e)}</end>
)

(: wsu-uwm: 157 items :)
(
  for $s in //course/times/start
  return <start>{data($s)}</start>,
  for $e in //course/times/end
  return <end>{data($e)}</end>
)

(: uwm-wsu: 157 items :)
(
  for $s in //course/times/start
  return <start>{data($s)}</start>,
  for $e in //course/times/end
  return <end>{data($e)}</end>
)

====

(: over wsu: sections of a subject, with the seats they have :)
for $c in //course where $c/prefix = "CHEM" return <seats>{$c/title}{$c/sect}{$c/limit}</seats>

(: wsu-uwm: 0 items :)
(: lost: course/prefix: no arrow supplies it, and the query needs it :)
()

(: uwm-wsu: 0 items :)
(: lost: course/prefix: no arrow supplies it, and the query needs it :)
()

(: reed-wsu: 64 items :)
(: lost: course/limit: no arrow supplies it: its place in the answer stays empty :)
for $c in //course
where $c/subj = "CHEM"
return <seats><title>{data($c/title)}</title><sect>{data($c/sect)}</sect></seats>

(: wsu-reed: 64 items :)
(: lost: course/limit: no arrow supplies it: its place in the answer stays empty :)
for $c in //course
where $c/subj = "CHEM"
return <seats><title>{data($c/title)}</title><sect>{data($c/sect)}</sect></seats>

====

(: over wsu: courses that are full :)
for $c in //course where $c/enrolled = $c/limit return <full>{$c/title}{$c/sect}</full>

(: wsu-uwm: 0 items :)
(: lost: course/enrolled: no arrow supplies it, and the query needs it :)
(: lost: course/limit: no arrow supplies it, and the query needs it :)
()

(: uwm-wsu: 0 items :)
(: lost: course/enrolled: no arrow supplies it, and the query needs it :)
(: lost: course/limit: no arrow supplies it, and the query needs it :)
()

(: reed-wsu: 0 items :)
(: lost: course/enrolled: no arrow supplies it, and the query needs it :)
(: lost: course/limit: no arrow supplies it, and the query needs it :)
()

(: wsu-reed: 0 items :)
(: lost: course/enrolled: no arrow supplies it, and the query needs it :)
(: lost: course/limit: no arrow supplies it, and the query needs it :)
()

====

(: over wsu: laboratories :)
//course[lab = "L"]/title

(: wsu-uwm: 0 items :)
(: lost: course/lab: no arrow supplies it, and the query needs it :)
()

(: uwm-wsu: 0 items :)
(: lost: course/lab: no arrow supplies it, and the query needs it :)
()

(: reed-wsu: 0 items :)
(: lost: course/lab: no arrow supplies it, and the query needs it :)
()

(: wsu-reed: 0 items :)
(: lost: course/lab: no arrow supplies it, and the query needs it :)
()

====

(: over wsu: what a footnote marks :)
for $c in //course where $c/footnote = "Q" or $c/footnote = "e" return <noted>{$c/crs}{$c/title}{$c/sect}</noted>

(: wsu-uwm: 922 items :)
(
  for $c in //course_listing, $s in $c/section_listing
  where $s/section_note = "Q"
  return <noted><crs>{data($c/course)}</crs><title>{data($c/title)}</title><sect>{data($s/section)}</sect></noted>,
  for $c in //course_listing, $s in $c/section_listing
  where $s/section_note = "e"
  return <noted><crs>{data($c/course)}</crs><title>{data($c/title)}</title><sect>{data($s/section)}</sect></noted>
)

(: uwm-wsu: 922 items :)
(
  for $c in //course_listing, $s in $c/section_listing
  where $s/section_note = "Q"
  return <noted><crs>{data($c/course)}</crs><title>{data($c/title)}</title><sect>{data($s/section)}</sect></noted>,
  for $c in //course_listing, $s in $c/section_listing
  where $s/section_note = "e"
  return <noted><crs>{data($c/course)}</crs><title>{data($c/title)}</title><sect>{data($s/section)}</sect></noted>
)

(: reed-wsu: 0 items :)
(: lost: course/footnote: no arrow supplies it, and the query needs it :)
()

(: wsu-reed: 0 items :)
(: lost: course/footnote: no arrow supplies it, and the query needs it :)
()

====

(: over wsu: courses with two instructors :)
for $c in //course, $d in //course[crs = $c/crs][title = $c/title]
where $c/place/room = "120" and $c/instructor < $d/instructor
return <two>{$c/title}{data($c/instructor)}, {data($d/instructor)}</two>

(: wsu-uwm: 12 items :)
for $c in //course_listing,
    $c2 in //course_listing[course = $c/course][title = $c/title],
    $s in $c/section_listing,
    $s2 in $c2/section_listing
where $s/instructor < $s2/instructor and $s/bldg_and_rm/rm = "120"
return <two><title>{data($c/title)}</title>{data($s/instructor)}, {data($s2/instructor)}</two>

(: uwm-wsu: 12 items :)
for $c in //course_listing,
    $c2 in //course_listing[course = $c/course][title = $c/title],
    $s in $c/section_listing,
    $s2 in $c2/section_listing
where $s/instructor < $s2/instructor and $s/bldg_and_rm/rm = "120"
return <two><title>{data($c/title)}</title>{data($s/instructor)}, {data($s2/instructor)}</two>

(: reed-wsu: 5 items :)
for $c in //course, $c2 in //course[crse = $c/crse][title = $c/title]
where $c/instructor < $c2/instructor and $c/place/room = "120"
return <two><title>{data($c/title)}</title>{data($c/instructor)}, {data($c2/instructor)}</two>

(: wsu-reed: 5 items :)
for $c in //course, $c2 in //course[crse = $c/crse][title = $c/title]
where $c/instructor < $c2/instructor and $c/place/room = "120"
return <two><title>{data($c/title)}</title>{data($c/instructor)}, {data($c2/instructor)}</two>
