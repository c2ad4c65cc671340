CREATE TABLE trips (driver_id BIGINT, trip_id BIGINT, city_id INTEGER, fare DOUBLE, distance DOUBLE, requested TIMESTAMP, status VARCHAR);
INSERT INTO trips VALUES (1, 100, 1, 12.5, 3.0, TIMESTAMP '2020-01-01 10:00:00', 'completed'), (1, 101, 2, 7.0, 1.5, TIMESTAMP '2020-01-02 11:30:00', 'canceled'), (2, 102, 1, 30.0, 9.0, TIMESTAMP '2020-02-01 09:00:00', 'completed');
CREATE TABLE drivers (driver_id BIGINT, rating DOUBLE, vehicle VARCHAR, joined DATE);
INSERT INTO drivers VALUES (1, 4.5, 'car', DATE '2019-01-01'), (2, 3.0, 'bike', DATE '2019-06-01');
CREATE TABLE cities (city_id INTEGER, name VARCHAR, region VARCHAR);
INSERT INTO cities VALUES (1, 'Rome', 'EU'), (2, 'Paris', 'EU'), (3, 'Lima', 'SA');

SELECT count(*) FROM trips;
SELECT COUNT(*) FROM trips WHERE status = 'completed' AND fare > 10.0;
SELECT count(distinct driver_id) FROM trips WHERE city_id = 1;
SELECT city_id, COUNT(*) FROM trips GROUP BY city_id;
SELECT status, AVG(fare) AS avg_fare FROM public.trips GROUP BY status;
SELECT SUM(fare) / COUNT(*) AS per_trip FROM trips;
SELECT cities.name, COUNT(*) FROM trips JOIN cities ON trips.city_id = cities.city_id GROUP BY cities.name;
SELECT c.region, SUM(t.fare) FROM trips t, cities c WHERE t.city_id = c.city_id AND t.status = 'completed' GROUP BY c.region;
SELECT trips.city_id, COUNT(*) FROM trips JOIN cities ON trips.city_id = cities.city_id GROUP BY trips.city_id;
SELECT cities.city_id, COUNT(*) FROM trips JOIN cities ON trips.city_id = cities.city_id GROUP BY 1;
SELECT d.vehicle, COUNT(*) FROM trips t JOIN drivers d ON t.driver_id = d.driver_id GROUP BY d.vehicle;
SELECT DATE_TRUNC('month', requested) AS m, COUNT(*) FROM trips WHERE requested >= '2020-01-01' AND requested < '2021-01-01' GROUP BY 1 ORDER BY 1;
SELECT time_bucket(INTERVAL '1 day', requested) AS d, COUNT(*) FROM trips WHERE requested >= TIMESTAMP '2020-01-01 00:00:00' AND requested < TIMESTAMP '2020-03-01 00:00:00' GROUP BY d;
SELECT EXTRACT(HOUR FROM requested) AS h, COUNT(DISTINCT driver_id) FROM trips GROUP BY h;
-- unanswerable: a map in a cell
SELECT histogram(status) FROM trips;
SELECT MIN(requested), MAX(requested) FROM trips;
SELECT MEDIAN(joined) FROM drivers;
SELECT COUNT(*) FROM drivers WHERE driver_id IN (1, 2, 3);
SELECT AVG(rating) FROM drivers WHERE driver_id BETWEEN 1 AND 500;
SELECT COUNT(*) FROM trips WHERE driver_id <> 2;
SELECT COUNT(*) FROM drivers SEMI JOIN trips ON drivers.driver_id = trips.driver_id;
SELECT COUNT(*) FROM drivers ANTI JOIN trips ON drivers.driver_id = trips.driver_id;
SELECT COUNT(*) FROM trips WHERE city_id = ANY (SELECT city_id FROM cities WHERE region = 'EU');
SELECT COUNT(*) FROM trips WHERE city_id IN (SELECT city_id FROM cities WHERE region = 'SA');
SELECT COUNT(*) FROM (SELECT driver_id, COUNT(*) AS n FROM trips GROUP BY driver_id HAVING COUNT(*) > 1) AS busy;
SELECT n, COUNT(*) FROM (SELECT driver_id, COUNT(*) AS n FROM trips GROUP BY driver_id) AS t GROUP BY n;
SELECT AVG(run) FROM (SELECT driver_id, SUM(fare) OVER (PARTITION BY driver_id ORDER BY requested ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS run FROM trips) AS t WHERE run BETWEEN 0 AND 100;
SELECT COUNT(*) FROM (SELECT driver_id, ROW_NUMBER() OVER (PARTITION BY driver_id ORDER BY requested) AS r FROM trips) AS t WHERE r = 1;
SELECT status, SUM(CASE WHEN distance > 2 THEN 1 ELSE 0 END) AS far FROM trips GROUP BY status;
SELECT CAST(fare / 10 AS INTEGER) AS bucket, COUNT(*) FROM trips GROUP BY bucket;
SELECT COUNT(*) FROM trips t JOIN (VALUES (1, 'one'), (2, 'two')) AS v(k, word) ON t.city_id = v.k;
SELECT v.word, COUNT(*) FROM trips t JOIN (VALUES (1, 'one'), (2, 'two')) AS v(k, word) ON t.city_id = v.k GROUP BY v.word;
SELECT COUNT(*) FROM trips t JOIN UNNEST([1, 2, 3]) AS u(k) ON t.city_id = u.k;
SELECT REGR_SLOPE(fare, distance), REGR_INTERCEPT(fare, distance), REGR_R2(fare, distance) FROM trips;
SELECT CORR(fare, distance) FROM trips;
SELECT COUNT(*) FROM trips a JOIN trips b ON a.driver_id = b.driver_id WHERE a.fare < b.fare;
SELECT MAX(name) FROM cities;
SELECT MIN(vehicle) FROM drivers;
-- over statistics
SELECT city_id, COUNT(*), RANK() OVER (ORDER BY COUNT(*) DESC) FROM trips GROUP BY city_id;
-- over statistics
SELECT AVG(n) FROM (SELECT city_id, COUNT(*) AS n FROM trips GROUP BY city_id) AS t;
-- unanswerable: rows
SELECT trip_id FROM trips WHERE fare > 100;
-- unanswerable: individuals
SELECT driver_id, SUM(fare) FROM trips GROUP BY driver_id ORDER BY 2 DESC LIMIT 10;
-- unanswerable: rows of two units
SELECT COUNT(*) FROM trips a JOIN trips b ON a.city_id = b.city_id;
SELECT COUNT(*) FROM trips t, drivers d WHERE t.driver_id = d.driver_id AND d.rating > 4.5;
-- unanswerable: the clock
SELECT COUNT(*) FROM trips WHERE requested > NOW() - INTERVAL '30 days';
SELECT d.vehicle, AVG(t.fare / t.distance) AS per_km FROM trips t JOIN drivers d USING (driver_id) WHERE t.distance > 0.5 GROUP BY d.vehicle;
SELECT c.name, COUNT(DISTINCT t.driver_id) AS n FROM trips t INNER JOIN cities c ON c.city_id = t.city_id WHERE t.status = 'completed' GROUP BY c.name ORDER BY n DESC LIMIT 10;
WITH busy AS (SELECT driver_id, COUNT(*) AS n FROM trips GROUP BY driver_id HAVING COUNT(*) >= 5) SELECT d.vehicle, COUNT(*) FROM drivers d JOIN busy b ON b.driver_id = d.driver_id GROUP BY d.vehicle;
SELECT CASE WHEN fare < 10 THEN '0-10' WHEN fare < 20 THEN '10-20' ELSE '20+' END AS band, COUNT(*) AS n FROM trips GROUP BY 1 ORDER BY 1;
SELECT EXTRACT(DOW FROM requested) AS dow, EXTRACT(HOUR FROM requested) AS h, COUNT(*) FROM trips GROUP BY dow, h;
-- over statistics
SELECT t.status, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM trips) AS pct FROM trips t GROUP BY t.status;
SELECT COUNT(CASE WHEN status = 'canceled' THEN 1 END)::float / NULLIF(COUNT(*), 0) AS cancel_rate FROM trips;
SELECT approx_distinct(driver_id) FROM trips;
SELECT approx_percentile(fare, 0.5) FROM trips;
SELECT date_trunc('day', requested) AS ds, COUNT(1) FROM trips WHERE requested BETWEEN TIMESTAMP '2020-02-01' AND TIMESTAMP '2020-02-10' GROUP BY 1;
SELECT region, AVG(n) FROM (SELECT c.region, t.driver_id, COUNT(*) AS n FROM trips t JOIN cities c ON t.city_id = c.city_id GROUP BY c.region, t.driver_id) AS x GROUP BY region;
SELECT COUNT(*) FROM drivers d WHERE (SELECT COUNT(*) FROM trips t WHERE t.driver_id = d.driver_id) > 2;
SELECT COUNT(*) FROM (SELECT DISTINCT driver_id, city_id FROM trips) AS x;
-- over statistics
SELECT city_id, status, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY city_id) AS of_city FROM trips GROUP BY city_id, status;
SELECT COUNT(*) AS n FROM trips WHERE status IN ('completed', 'canceled') AND fare IS NOT NULL AND distance BETWEEN 1 AND 20;
-- unanswerable: the clock
SELECT vehicle, ROUND(AVG(rating), 1) AS r FROM drivers WHERE joined < CURRENT_DATE GROUP BY vehicle;
SELECT c.region, c.name, SUM(fare) AS total FROM trips JOIN cities c USING (city_id) GROUP BY GROUPING SETS ((c.region, c.name), (c.region), ());
-- over statistics
SELECT name FROM cities WHERE city_id IN (SELECT city_id FROM trips GROUP BY city_id HAVING COUNT(*) > 10);
