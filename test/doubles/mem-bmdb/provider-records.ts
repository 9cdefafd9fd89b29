import type { RecordBook, RecordShelf } from '../../../src/adapters/bmdb/port.ts';
import type { Memory } from './tables.ts';

/** See `RecordShelf`. */
export const createRecordShelf = ({ records }: Memory): RecordShelf => ({
  all: async (provider) => records.all(provider),
  counts: async () => records.counts(),
});

/** See `RecordBook`. */
export const createRecordBook = ({ records }: Memory): RecordBook => ({
  make: async (name, value) => records.make(name, value),
  replace: async (name, value, version) => records.replace(name, value, version),
  drop: async (name, version) => {
    records.drop(name, version);
  },
});
