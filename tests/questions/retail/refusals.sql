-- What cannot be asked of a shop.

-- The best customers (TPC-H's eighteenth question).
SELECT c.country, o.order_id, SUM(i.quantity) FROM customers c JOIN orders o USING (customer_id) JOIN items i USING (order_id) GROUP BY c.country, o.order_id ORDER BY 3 DESC LIMIT 100;
--code> returns_individuals
--remedy> SELECT c.country, SUM(i.quantity) FROM customers AS c JOIN orders AS o USING (customer_id) JOIN items AS i USING (order_id) GROUP BY c.country

-- Customers by number.
SELECT customer_id, SUM(shipping) AS spent FROM orders GROUP BY customer_id ORDER BY spent DESC LIMIT 10;
--code> returns_individuals
--remedy> SELECT SUM(shipping) AS spent FROM orders

-- Rows of orders (TPC-H's third question).
SELECT o.ordered, o.shipping FROM orders o WHERE o.channel = 'web' ORDER BY o.shipping DESC LIMIT 10;
--code> returns_rows
--remedy> SELECT o.ordered, o.shipping, COUNT(*) FROM orders AS o WHERE o.channel = 'web' GROUP BY o.ordered, o.shipping

-- Two customers who bought the same.
SELECT COUNT(*) FROM items a JOIN items b ON a.sku = b.sku WHERE a.returned AND NOT b.returned;
--code> join_across_units
--remedy> SELECT COUNT(*) FROM items AS a JOIN items AS b ON a.sku = b.sku WHERE a.returned AND NOT b.returned AND a.order_id = b.order_id

-- How evenly coupons are used.
SELECT ENTROPY(coupon) FROM orders;
--code> values_unknown

-- A list of quantiles.
SELECT QUANTILE_CONT(price, [0.25, 0.5, 0.75]) FROM items;
--code> quantile_list
--remedy> SELECT QUANTILE_CONT(price, 0.25), QUANTILE_CONT(price, 0.5), QUANTILE_CONT(price, 0.75) FROM items

-- A quantile beyond one.
SELECT QUANTILE_CONT(price, 1.5) FROM items;
--code> quantile_invalid
--remedy> SELECT QUANTILE_CONT(price, 0.5) FROM items

-- An EXCEPT of what may be NULL.
SELECT COUNT(*) FROM (SELECT channel FROM orders EXCEPT SELECT country FROM customers) AS x;
--code> subquery_unsupported

-- Unlike columns in UNION.
SELECT COUNT(*) FROM (SELECT channel, shipping FROM orders UNION ALL SELECT segment FROM customers) AS x;
--code> union_columns
--remedy> SELECT COUNT(*) FROM (SELECT channel, shipping FROM orders) AS x

-- A WITH that nothing reads.
WITH o AS (SELECT channel FROM orders) SELECT COUNT(*) FROM customers;
--code> with_unread
--remedy> SELECT COUNT(*) FROM customers

-- A pivot.
SELECT * FROM orders PIVOT (COUNT(*) FOR channel IN ('web', 'shop'));
--code> clause_unsupported
--remedy> SELECT COUNT(*) FROM orders

-- A lateral join.
SELECT COUNT(*) FROM customers c, LATERAL (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id LIMIT 1) AS x;
--code> not_a_table

-- A limit inside.
SELECT COUNT(*) FROM (SELECT shipping FROM orders LIMIT 10) AS x;
--code> clause_unsupported
--remedy> SELECT COUNT(*) FROM (SELECT shipping FROM orders) AS x

-- Different rows of a public table in an order that they do not tell.
SELECT DISTINCT category FROM products ORDER BY list_price;
--code> position_invalid
--remedy> SELECT DISTINCT category FROM products

-- Public rows in an order that tells whether anybody bought.
SELECT p.sku FROM products p ORDER BY EXISTS (SELECT 1 FROM items i WHERE i.sku = p.sku);
--code> subquery_across_units
