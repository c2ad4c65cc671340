CREATE TABLE hits (user_id BIGINT, watch_id BIGINT, adv_engine INTEGER, width INTEGER, region INTEGER, phrase VARCHAR, url VARCHAR, title VARCHAR, event_date DATE, event_time TIMESTAMP, counter INTEGER, refresh BOOLEAN, model VARCHAR);
INSERT INTO hits VALUES (1, 1, 0, 1024, 7, '', 'http://a.b/x', 'Home', DATE '2013-07-01', TIMESTAMP '2013-07-01 10:00:00', 62, FALSE, ''), (2, 2, 3, 800, 8, 'cats', 'http://g.b/y', 'Cats', DATE '2013-07-02', TIMESTAMP '2013-07-02 11:10:00', 62, TRUE, 'z');

SELECT COUNT(*) FROM hits;
SELECT COUNT(*) FROM hits WHERE adv_engine <> 0;
SELECT SUM(adv_engine), COUNT(*), AVG(width) FROM hits;
SELECT AVG(region) FROM hits;
SELECT COUNT(DISTINCT user_id) FROM hits;
SELECT COUNT(DISTINCT phrase) FROM hits;
SELECT MIN(event_date), MAX(event_date) FROM hits;
SELECT adv_engine, COUNT(*) FROM hits WHERE adv_engine <> 0 GROUP BY adv_engine ORDER BY COUNT(*) DESC;
SELECT region, COUNT(DISTINCT user_id) AS u FROM hits GROUP BY region ORDER BY u DESC LIMIT 10;
SELECT region, SUM(adv_engine), COUNT(*) AS c, AVG(width), COUNT(DISTINCT user_id) FROM hits GROUP BY region ORDER BY c DESC LIMIT 10;
SELECT model, COUNT(DISTINCT user_id) AS u FROM hits WHERE model <> '' GROUP BY model ORDER BY u DESC LIMIT 10;
SELECT phrase, COUNT(*) AS c FROM hits WHERE phrase <> '' GROUP BY phrase ORDER BY c DESC LIMIT 10;
SELECT adv_engine, phrase, COUNT(*) AS c FROM hits WHERE phrase <> '' GROUP BY adv_engine, phrase ORDER BY c DESC LIMIT 10;
SELECT COUNT(*) FROM hits WHERE user_id = 435090932899640449;
SELECT COUNT(*) FROM hits WHERE url LIKE '%google%';
SELECT phrase, COUNT(*) AS c FROM hits WHERE url LIKE '%b%' AND phrase <> '' GROUP BY phrase ORDER BY c DESC LIMIT 10;
SELECT AVG(LENGTH(url)) FROM hits WHERE LENGTH(url) BETWEEN 1 AND 500;
SELECT counter, AVG(LENGTH(url)) AS l, COUNT(*) AS c FROM hits WHERE url <> '' AND LENGTH(url) <= 300 GROUP BY counter HAVING COUNT(*) > 1 ORDER BY l DESC LIMIT 25;
SELECT REGEXP_REPLACE(url, '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k, COUNT(*) AS c FROM hits WHERE url <> '' GROUP BY k HAVING COUNT(*) > 1 ORDER BY c DESC LIMIT 25;
SELECT SUM(width), SUM(width + 1), SUM(width + 2), SUM(width + 3) FROM hits;
SELECT url, COUNT(*) AS c FROM hits GROUP BY url ORDER BY c DESC LIMIT 10;
SELECT 1, url, COUNT(*) AS c FROM hits GROUP BY 1, url ORDER BY c DESC LIMIT 10;
SELECT region, region - 1, COUNT(*) AS c FROM hits GROUP BY region, region - 1 ORDER BY c DESC LIMIT 10;
SELECT url, COUNT(*) AS views FROM hits WHERE counter = 62 AND event_date >= '2013-07-01' AND event_date <= '2013-07-31' AND refresh = 0 AND url <> '' GROUP BY url ORDER BY views DESC LIMIT 10 OFFSET 5;
SELECT title, COUNT(*) AS views FROM hits WHERE counter = 62 AND NOT refresh AND title <> '' GROUP BY title ORDER BY views DESC LIMIT 10;
SELECT DATE_TRUNC('minute', event_time) AS m, COUNT(*) AS views FROM hits WHERE event_time >= '2013-07-14 10:00:00' AND event_time <= '2013-07-14 12:00:00' GROUP BY DATE_TRUNC('minute', event_time) ORDER BY DATE_TRUNC('minute', event_time) LIMIT 10;
SELECT EXTRACT(minute FROM event_time) AS m, phrase, COUNT(*) FROM hits GROUP BY m, phrase ORDER BY COUNT(*) DESC LIMIT 10;
SELECT CASE WHEN adv_engine = 0 THEN url ELSE '' END AS src, COUNT(*) FROM hits GROUP BY src ORDER BY COUNT(*) DESC LIMIT 3;
SELECT width, COUNT(*) FROM hits WHERE refresh = FALSE AND region IN (-1, 6, 7) GROUP BY width ORDER BY COUNT(*) DESC LIMIT 10;
SELECT `region`, COUNT(*) AS `c` FROM `hits` GROUP BY `region`;
-- unanswerable: individuals
SELECT user_id, COUNT(*) FROM hits GROUP BY user_id ORDER BY COUNT(*) DESC LIMIT 10;
-- unanswerable: individuals
SELECT user_id FROM hits WHERE user_id = 435090932899640449;
-- unanswerable: the least of texts that anybody may write
SELECT phrase, MIN(url), COUNT(*) AS c FROM hits WHERE url LIKE '%b%' GROUP BY phrase ORDER BY c DESC LIMIT 10;
-- unanswerable: rows
SELECT * FROM hits WHERE url LIKE '%google%' ORDER BY event_time LIMIT 10;
-- unanswerable: rows
SELECT phrase FROM hits WHERE phrase <> '' ORDER BY event_time LIMIT 10;
SELECT phrase, COUNT(DISTINCT user_id) AS u FROM hits WHERE phrase <> '' GROUP BY phrase ORDER BY u DESC LIMIT 10;
SELECT extract(minute FROM event_time) AS m, phrase, COUNT(*) FROM hits GROUP BY m, phrase ORDER BY COUNT(*) DESC LIMIT 10;
SELECT counter, AVG(LENGTH(url)) AS l, COUNT(*) AS c FROM hits WHERE url <> '' GROUP BY counter HAVING COUNT(*) > 100000 ORDER BY l DESC LIMIT 25;
SELECT DATE_TRUNC('minute', event_time) AS M, COUNT(*) AS PageViews FROM hits WHERE counter = 62 AND event_date >= '2013-07-14' AND event_date <= '2013-07-15' AND refresh = FALSE GROUP BY DATE_TRUNC('minute', event_time) ORDER BY DATE_TRUNC('minute', event_time) LIMIT 10 OFFSET 1000;
SELECT countIf(refresh) AS r, avgIf(width, refresh) AS w FROM hits;
