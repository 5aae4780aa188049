-- What the bench records of SQLite: load, index, join, aggregate, update, check.
-- The same in each run.
PRAGMA journal_mode = MEMORY;
CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, city INTEGER, age INTEGER);
CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT, people INTEGER DEFAULT 0);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
  INSERT INTO city(id, name) SELECT i, 'city ' || (i * 7919 % 1000) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
  INSERT INTO person
  SELECT i, 'person ' || (i * 104729 % 100003), i * 31 % 200 + 1, i * 17 % 90 FROM n;
CREATE INDEX person_city ON person(city);
CREATE INDEX person_name ON person(name, age);
UPDATE city SET people = (SELECT count(*) FROM person WHERE person.city = city.id);
SELECT city.name, count(*), avg(age), min(person.name) FROM person JOIN city ON city.id = person.city
  GROUP BY city.name HAVING avg(age) > 44 ORDER BY 2 DESC, 1 LIMIT 10;
SELECT count(*) FROM person WHERE name LIKE '%12%' AND age BETWEEN 20 AND 40;
SELECT a.age, count(DISTINCT b.city) FROM person a JOIN person b ON b.id = a.id * 3 % 12000 + 1
  GROUP BY a.age ORDER BY a.age LIMIT 5;
DELETE FROM person WHERE id % 5 = 0;
WITH RECURSIVE t(i, s) AS (SELECT 1, 'x' UNION ALL SELECT i + 1, substr(s || char(97 + i % 26), -20)
  FROM t WHERE i < 5000) SELECT max(i), max(s) FROM t;
SELECT sum(length(name)), total(age) FROM person;
PRAGMA integrity_check;
