// Loaded before the program of a child process: leaves its emulator's exchanges for the judge.
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';

const asLists = (_name, value) => (value instanceof Set ? [...value] : value);
subscribe('shepherd:equinix:exchange', (exchange) =>
  appendFileSync(process.env.PUBLISHED_EXCHANGES, `${JSON.stringify(exchange, asLists)}\n`, {
    mode: 0o600,
  }),
);
