/site/people/person/name
