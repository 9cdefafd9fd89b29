-- Up Migration
-- Runs beside: 0.1.0 and later.

-- Repairs of broken machines, and the evidence for the people who repair them.

CREATE TABLE repair_cases ( -- Repairs: one row for each broken physical machine, from "needs a person" until it is accepted again. Closed ones are kept for 400 days.
  case_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Number for people; order of opening.
  provider text NOT NULL, -- Configured name of the provider.
  slot_id text NOT NULL, -- The physical machine.
  machine_id uuid, -- Machine on the slot at the opening; null: none. Not a foreign key: the row outlives it.
  title text NOT NULL CHECK (char_length(title) BETWEEN 1 AND 200), -- One line.
  part text CHECK (char_length(part) BETWEEN 1 AND 200), -- The broken part; null: not known.
  ticket_url text CHECK (char_length(ticket_url) BETWEEN 1 AND 2000), -- Ticket in another system; null: none.
  opened_at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(opened_at)), -- By the database clock.
  opened_by text NOT NULL, -- Component or person that opened it.
  closed_at timestamptz CHECK (isfinite(closed_at)), -- When it was closed; null: it is open.
  closed_by text, -- Component or person that closed it.
  outcome text, -- What came of it.
  CHECK (num_nulls(closed_at, closed_by, outcome) IN (0, 3))
);
CREATE UNIQUE INDEX repair_cases_open_key ON repair_cases (provider, slot_id)
  WHERE closed_at IS NULL;
CREATE INDEX repair_cases_slot_idx ON repair_cases (provider, slot_id, case_id);
CREATE INDEX repair_cases_closed_idx ON repair_cases (closed_at);

CREATE TABLE case_lines ( -- Evidence and notes. A case shows its own lines, and the evidence of its slot from a day before its opening.
  line bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Order of writing.
  provider text NOT NULL, -- Configured name of the provider.
  slot_id text NOT NULL, -- The physical machine.
  case_id bigint REFERENCES repair_cases ON DELETE CASCADE, -- The case of a note; null: evidence, which may be older than its case.
  at timestamptz NOT NULL DEFAULT now() CHECK (isfinite(at)), -- By the database clock.
  kind text NOT NULL CHECK (kind IN ('evidence-before', 'evidence-after', 'note')), -- Evidence from before the first reboot, from after it, or a note.
  author text NOT NULL, -- Component or person.
  text text NOT NULL CHECK (char_length(text) BETWEEN 1 AND 65536), -- Without secrets.
  CHECK ((kind = 'note') = (case_id IS NOT NULL))
);
CREATE INDEX case_lines_slot_idx ON case_lines (provider, slot_id, at);
CREATE INDEX case_lines_case_idx ON case_lines (case_id);
CREATE INDEX case_lines_at_idx ON case_lines (at) WHERE case_id IS NULL;

-- Down Migration

DROP TABLE case_lines, repair_cases;
