-- Ordinary questions, as an analyst would type them: `-- shape: what is asked`, and where San refuses it,
-- `-- refused: the code`.

-- flights: how many flights
SELECT COUNT(*) AS flights FROM flights;

-- flights: how many planes
SELECT COUNT(DISTINCT tailnum) AS planes FROM flights;

-- flights: flights by origin
SELECT origin, COUNT(*) AS flights FROM flights GROUP BY origin;

-- flights: flights by carrier
SELECT carrier, COUNT(*) AS flights FROM flights GROUP BY carrier;

-- flights: flights by month
SELECT month, COUNT(*) AS flights FROM flights GROUP BY month;

-- flights: flights by hour
SELECT hour, COUNT(*) AS flights FROM flights GROUP BY hour;

-- flights: flights on each day of the year
SELECT month, day, COUNT(*) AS flights FROM flights GROUP BY month, day;

-- flights: flights by origin and month
SELECT origin, month, COUNT(*) AS flights FROM flights GROUP BY origin, month;

-- flights: flights by carrier and origin
SELECT carrier, origin, COUNT(*) AS flights FROM flights GROUP BY carrier, origin;

-- flights: flights by name of the airline
SELECT name, COUNT(*) AS flights FROM flights JOIN airlines USING (carrier) GROUP BY name;

-- flights: flights by destination
SELECT dest, COUNT(*) AS flights FROM flights GROUP BY dest;

-- flights: flights by carrier and destination
SELECT carrier, dest, COUNT(*) AS flights FROM flights GROUP BY carrier, dest;

-- flights: top ten destinations
SELECT dest, COUNT(*) AS flights FROM flights GROUP BY dest ORDER BY flights DESC LIMIT 10;

-- flights: top twenty routes
SELECT origin, dest, COUNT(*) AS flights FROM flights GROUP BY origin, dest ORDER BY flights DESC LIMIT 20;

-- flights: destinations with more than 5,000 flights
SELECT dest, COUNT(*) AS flights FROM flights GROUP BY dest HAVING COUNT(*) > 5000;

-- flights: ten busiest planes
-- refused: returns_individuals
SELECT tailnum, COUNT(*) AS flights FROM flights GROUP BY tailnum ORDER BY flights DESC LIMIT 10;

-- flights: share of each carrier
SELECT carrier, 1.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM flights GROUP BY carrier;

-- flights: summer flights by origin
SELECT origin, COUNT(*) AS flights FROM flights WHERE month IN (6, 7, 8) GROUP BY origin;

-- flights: flights to Los Angeles by carrier
SELECT carrier, COUNT(*) AS flights FROM flights WHERE dest = 'LAX' AND carrier IN ('UA', 'AA', 'DL', 'B6', 'VX')
GROUP BY carrier;

-- flights: evening flights from JFK
SELECT COUNT(*) AS flights FROM flights WHERE origin = 'JFK' AND hour >= 18;

-- flights: planes by carrier
SELECT carrier, COUNT(DISTINCT tailnum) AS planes FROM flights GROUP BY carrier;

-- flights: planes by month
SELECT month, COUNT(DISTINCT tailnum) AS planes FROM flights GROUP BY month;

-- flights: planes by destination
SELECT dest, COUNT(DISTINCT tailnum) AS planes FROM flights GROUP BY dest;

-- flights: average number of flights of a plane
SELECT AVG(flown) AS flights FROM (SELECT tailnum, COUNT(*) AS flown FROM flights GROUP BY tailnum) AS t;

-- flights: cancelled flights
SELECT COUNT(*) AS cancelled FROM flights WHERE dep_delay IS NULL;

-- flights: share cancelled by origin
SELECT origin, 1.0 * COUNT_IF(dep_delay IS NULL) / COUNT(*) AS cancelled FROM flights GROUP BY origin;

-- flights: average departure delay
SELECT AVG(dep_delay) AS delay FROM flights;

-- flights: average arrival delay
SELECT AVG(arr_delay) AS delay FROM flights;

-- flights: average departure delay by carrier
SELECT carrier, AVG(dep_delay) AS delay FROM flights GROUP BY carrier;

-- flights: average departure delay by month
SELECT month, AVG(dep_delay) AS delay FROM flights GROUP BY month;

-- flights: average departure delay by origin
SELECT origin, AVG(dep_delay) AS delay FROM flights GROUP BY origin;

-- flights: average departure delay by hour
SELECT hour, AVG(dep_delay) AS delay FROM flights WHERE hour >= 6 AND hour <= 21 GROUP BY hour;

-- flights: flights and average departure delay by destination
SELECT dest, COUNT(*) AS flights, AVG(dep_delay) AS delay FROM flights GROUP BY dest;

-- flights: average departure delay of flights that were late
SELECT AVG(dep_delay) AS delay FROM flights WHERE dep_delay > 0;

-- flights: share more than 15 minutes late
SELECT 1.0 * COUNT_IF(dep_delay > 15) / COUNT(dep_delay) AS late FROM flights;

-- flights: share more than 15 minutes late by carrier
SELECT carrier, 1.0 * COUNT_IF(dep_delay > 15) / COUNT(dep_delay) AS late FROM flights GROUP BY carrier;

-- flights: share more than 15 minutes late by month
SELECT month, AVG(CASE WHEN dep_delay > 15 THEN 1 ELSE 0 END) AS late FROM flights GROUP BY month;

-- flights: share more than 15 minutes late by origin
SELECT origin, AVG(CASE WHEN dep_delay > 15 THEN 1 ELSE 0 END) AS late FROM flights GROUP BY origin;

-- flights: total distance
SELECT SUM(distance) AS miles FROM flights;

-- flights: total distance by carrier
SELECT carrier, SUM(distance) AS miles FROM flights GROUP BY carrier;

-- flights: average distance by origin
SELECT origin, AVG(distance) AS miles FROM flights GROUP BY origin;

-- flights: average speed in miles an hour
SELECT 60.0 * SUM(distance) / SUM(air_time) AS speed FROM flights WHERE air_time IS NOT NULL;

-- flights: total minutes of delay by month
SELECT month, SUM(dep_delay) AS minutes FROM flights WHERE dep_delay > 0 GROUP BY month;

-- flights: how many destinations
SELECT COUNT(DISTINCT dest) AS destinations FROM flights;

-- flights: how many carriers
SELECT COUNT(DISTINCT carrier) AS carriers FROM flights;

-- flights: destinations by carrier
SELECT carrier, COUNT(DISTINCT dest) AS destinations FROM flights GROUP BY carrier;

-- flights: median departure delay
SELECT MEDIAN(dep_delay) AS delay FROM flights;

-- flights: quartiles of the distance
SELECT QUANTILE_CONT(distance, 0.25) AS low, MEDIAN(distance) AS middle, QUANTILE_CONT(distance, 0.75) AS high
FROM flights;

-- flights: 0.9-quantile of the departure delay by origin
SELECT origin, QUANTILE_CONT(dep_delay, 0.9) AS delay FROM flights GROUP BY origin;

-- flights: standard deviation of the departure delay
SELECT STDDEV(dep_delay) AS deviation FROM flights;

-- hospital: visits by kind
SELECT kind, COUNT(*) AS visits FROM visits GROUP BY kind;

-- hospital: cost of visits by month
SELECT MONTH(day) AS month, SUM(cost) AS cost, AVG(cost) AS average FROM visits GROUP BY MONTH(day);

-- hospital: people by district
SELECT district, COUNT(*) AS people FROM people GROUP BY district;

-- census: people by sex and education
SELECT sex, education, COUNT(*) AS people FROM persons GROUP BY sex, education;

-- census: median and average income by region
SELECT region, MEDIAN(income) AS middle, AVG(income) AS average FROM persons GROUP BY region;

-- census: people by occupation
SELECT occupation, COUNT(*) AS people FROM persons GROUP BY occupation;

-- retail: orders and customers by channel
SELECT channel, COUNT(*) AS orders, COUNT(DISTINCT customer_id) AS customers FROM orders GROUP BY channel;

-- retail: revenue by month
SELECT MONTH(ordered) AS month, SUM(price * quantity) AS revenue FROM orders JOIN items USING (order_id)
GROUP BY MONTH(ordered);

-- retail: items sold by product
SELECT sku, SUM(quantity) AS items FROM items GROUP BY sku;

-- retail: average number of orders of a customer
SELECT AVG(orders) AS orders FROM (SELECT customer_id, COUNT(*) AS orders FROM orders GROUP BY customer_id) AS t;
