import type { RecordRepository, RecordStore } from '../../../src/adapters/bmdb/port.ts';
import type { Memory } from './tables.ts';

/** See `RecordStore`. */
export const createRecordStore = ({ records }: Memory): RecordStore => ({
  all: async (provider) => records.all(provider),
  counts: async () => records.counts(),
});

/** See `RecordRepository`. */
export const createRecordRepository = ({ records }: Memory): RecordRepository => ({
  make: async (name, value) => records.make(name, value),
  replace: async (name, value, version) => records.replace(name, value, version),
  drop: async (name, version) => {
    records.drop(name, version);
  },
});
