-- Lets a test set the time of a migrated database: `testclock.now()` replaces the built-in function
-- for every connection, and in everything that the migrations created.
CREATE SCHEMA testclock;
GRANT USAGE ON SCHEMA testclock TO PUBLIC;

-- Microseconds since 1970. A sequence has the same value for everybody, whatever their snapshots.
CREATE SEQUENCE testclock.us;
SELECT setval('testclock.us', 1700000000000000);
GRANT SELECT ON testclock.us TO PUBLIC;

CREATE FUNCTION testclock.now() RETURNS timestamptz STABLE PARALLEL SAFE LANGUAGE plpgsql AS $$ BEGIN
  RETURN pg_catalog.to_timestamp(pg_catalog.pg_sequence_last_value('testclock.us') / 1e6::float8);
END $$;
CREATE FUNCTION testclock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE plpgsql AS $$ BEGIN
  RETURN pg_catalog.to_timestamp(pg_catalog.pg_sequence_last_value('testclock.us') / 1e6::float8);
END $$;

-- Our connections set their search path, if the server has such a setting.
CREATE VIEW testclock.pg_settings AS
  SELECT * FROM pg_catalog.pg_settings WHERE name <> 'search_path';
GRANT SELECT ON testclock.pg_settings TO PUBLIC;

DO $$ DECLARE one record; BEGIN
  FOR one IN
    SELECT adrelid::regclass AS relation, attname, pg_get_expr(adbin, adrelid) AS made
    FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
    WHERE pg_get_expr(adbin, adrelid) LIKE '%now()%'
  LOOP
    EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s',
      one.relation, one.attname, replace(one.made, 'now()', 'testclock.now()'));
  END LOOP;
  FOR one IN
    SELECT tgname, tgrelid::regclass AS relation, pg_get_triggerdef(oid) AS made
    FROM pg_trigger WHERE NOT tgisinternal AND pg_get_triggerdef(oid) LIKE '%now()%'
  LOOP
    EXECUTE format('DROP TRIGGER %I ON %s', one.tgname, one.relation);
    EXECUTE replace(one.made, 'now()', 'testclock.now()');
  END LOOP;
  FOR one IN
    SELECT p.oid::regprocedure AS name, path FROM pg_proc p, unnest(proconfig) AS path
    WHERE pronamespace = 'public'::regnamespace AND path LIKE 'search_path=%'
  LOOP
    EXECUTE format('ALTER FUNCTION %s SET search_path = testclock, %s',
      one.name, substr(one.path, length('search_path=') + 1));
  END LOOP;
  EXECUTE format('ALTER DATABASE %I SET search_path = public, testclock, pg_catalog',
    current_database());
  -- Planning a scan of the fleet otherwise takes 15 ms, most of such a test's time.
  EXECUTE format('ALTER DATABASE %I SET join_collapse_limit = 1', current_database());
END $$;
