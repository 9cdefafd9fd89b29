import type { RecordBook, RecordShelf } from '../../../src/adapters/bmdb/port.ts';
import type { Memory, SessionGate } from './tables.ts';

/** See `RecordShelf`. */
export const createRecordShelf = (
  { records }: Memory,
  beginRead: (signal: AbortSignal) => void,
): RecordShelf => ({
  all: async (provider, signal) => {
    beginRead(signal);
    return records.all(provider);
  },
  counts: async (signal) => {
    beginRead(signal);
    return records.counts();
  },
});

/** See `RecordBook`. */
export const createRecordBook = ({ records }: Memory, gate: SessionGate): RecordBook => ({
  make: async (name, value) => {
    gate.check();
    return records.make(name, value);
  },
  replace: async (name, value, version) => {
    gate.check();
    return records.replace(name, value, version);
  },
  drop: async (name, version) => {
    gate.check();
    records.drop(name, version);
  },
});
