-- Words end at punctuation, symbols and spaces beyond ASCII, too: PostgreSQL decides that by the locale of the database, and the
-- locale C takes each character beyond ASCII for a letter. The indexes of fields with `x-search: "words"` are built anew.

-- A text in which each character beyond ASCII that separates words becomes `replacement` (as of regexp_replace). The class has the
-- Unicode categories P, S and Z up to U+FFFF and of the symbols from U+1F000 on, with U+200B and U+FEFF; SEPARATOR in
-- src/list/words.ts is the same one.
create or replace function plinth_separated(value text, replacement text) returns text
  language sql immutable strict parallel safe
as $$
  select case when octet_length(value) = length(value) then value else regexp_replace(value, '(['
    '\u00a0-\u00a9\u00ab-\u00ac\u00ae-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7\u02c2-\u02c5\u02d2-\u02df'
    '\u02e5-\u02eb\u02ed\u02ef-\u02ff\u0375\u037e\u0384-\u0385\u0387\u03f6\u0482\u055a-\u055f\u0589-\u058f\u05be'
    '\u05c0\u05c3\u05c6\u05f3-\u05f4\u0606-\u060f\u061b\u061d-\u061f\u066a-\u066d\u06d4\u06de\u06e9\u06fd-\u06fe'
    '\u0700-\u070d\u07f6-\u07f9\u07fe-\u07ff\u0830-\u083e\u085e\u0888\u0964-\u0965\u0970\u09f2-\u09f3'
    '\u09fa-\u09fb\u09fd\u0a76\u0af0-\u0af1\u0b70\u0bf3-\u0bfa\u0c77\u0c7f\u0c84\u0d4f\u0d79\u0df4\u0e3f\u0e4f'
    '\u0e5a-\u0e5b\u0f01-\u0f17\u0f1a-\u0f1f\u0f34\u0f36\u0f38\u0f3a-\u0f3d\u0f85\u0fbe-\u0fc5\u0fc7-\u0fda'
    '\u104a-\u104f\u109e-\u109f\u10fb\u1360-\u1368\u1390-\u1399\u1400\u166d-\u166e\u1680\u169b-\u169c'
    '\u16eb-\u16ed\u1735-\u1736\u17d4-\u17d6\u17d8-\u17db\u1800-\u180a\u1940-\u1945\u19de-\u19ff\u1a1e-\u1a1f'
    '\u1aa0-\u1aa6\u1aa8-\u1aad\u1b4e-\u1b4f\u1b5a-\u1b6a\u1b74-\u1b7f\u1bfc-\u1bff\u1c3b-\u1c3f\u1c7e-\u1c7f'
    '\u1cc0-\u1cc7\u1cd3\u1fbd\u1fbf-\u1fc1\u1fcd-\u1fcf\u1fdd-\u1fdf\u1fed-\u1fef\u1ffd-\u200b\u2010-\u2029'
    '\u202f-\u205f\u207a-\u207e\u208a-\u208e\u20a0-\u20c1\u2100-\u2101\u2103-\u2106\u2108-\u2109\u2114'
    '\u2116-\u2118\u211e-\u2123\u2125\u2127\u2129\u212e\u213a-\u213b\u2140-\u2144\u214a-\u214d\u214f\u218a-\u244a'
    '\u249c-\u24e9\u2500-\u2775\u2794-\u2bff\u2ce5-\u2cea\u2cf9-\u2cfc\u2cfe-\u2cff\u2d70\u2e00-\u2e2e'
    '\u2e30-\u3004\u3008-\u3020\u3030\u3036-\u3037\u303d-\u303f\u309b-\u309c\u30a0\u30fb\u3190-\u3191'
    '\u3196-\u319f\u31c0-\u31ef\u3200-\u321e\u322a-\u3247\u3250\u3260-\u327f\u328a-\u32b0\u32c0-\u33ff'
    '\u4dc0-\u4dff\ua490-\ua4c6\ua4fe-\ua4ff\ua60d-\ua60f\ua673\ua67e\ua6f2-\ua716\ua720-\ua721\ua789-\ua78a'
    '\ua828-\ua82b\ua836-\ua839\ua874-\ua877\ua8ce-\ua8cf\ua8f8-\ua8fa\ua8fc\ua92e-\ua92f\ua95f\ua9c1-\ua9cd'
    '\ua9de-\ua9df\uaa5c-\uaa5f\uaa77-\uaa79\uaade-\uaadf\uaaf0-\uaaf1\uab5b\uab6a-\uab6b\uabeb\ufb29'
    '\ufbb2-\ufbd2\ufd3e-\ufd4f\ufd90-\ufd91\ufdc8-\ufdcf\ufdfc-\ufdff\ufe10-\ufe19\ufe30-\ufe6b\ufeff-\uff0f'
    '\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\uffe0-\uffee\ufffc-\ufffd'
    '\U0001f000-\U0001f0f5\U0001f10d-\U0001fbef\U0001fbfa'
    '])', replacement, 'g') end
$$;

-- As before, of the separated text. While an index is built, PostgreSQL has no search path but this one.
do $$
declare
  outdated regclass;
begin
  execute replace(
    pg_get_functiondef('plinth_words(regconfig, text)'::regprocedure),
    'left(value, 1048576)', 'plinth_separated(left(value, 1048576), '' '')'
  );
  alter function plinth_words(regconfig, text) set search_path from current;
  for outdated in
    select distinct indexrelid::regclass
    from pg_index
    join pg_depend on pg_depend.objid = indexrelid and classid = 'pg_class'::regclass
    where refclassid = 'pg_proc'::regclass and refobjid = 'plinth_words(regconfig, text)'::regprocedure
  loop
    execute format('reindex index %s', outdated);
  end loop;
end
$$;
