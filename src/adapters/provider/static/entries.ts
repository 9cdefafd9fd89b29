import { z } from 'zod';
import {
  readEntries,
  entryText,
  HOST_FIELDS,
  hostFaults,
  hostOf,
  idField,
  LOCATION_FIELD,
  type HostEntry,
} from '../../driver-kit/inventory/entries.ts';

/** One machine of the inventory. */
export interface InventoryEntry extends HostEntry {
  readonly location: string | null;
  /** URL of its management controller; this driver never uses it. */
  readonly bmc: string | null;
}

const Entry = z.strictObject(
  {
    ID: idField(128),
    ...HOST_FIELDS,
    Location: LOCATION_FIELD,
    Bmc: entryText('an https URL without credentials', (value) =>
      /^https?:\/\/[^\s@]+$/.test(value),
    ).optional(),
  },
  { error: 'is no object' },
);

/**
 * Parses an inventory: a JSON array and nothing after it.
 * @param passwords names that entries may refer to.
 * @throws {UsageError} names every faulty entry; the whole inventory is refused.
 */
export const parseInventory = (
  content: string,
  passwords: ReadonlySet<string> = new Set(),
): readonly InventoryEntry[] =>
  readEntries(content, {
    schema: Entry,
    toEntry: (told) => ({
      ...hostOf(told.ID, told),
      location: told.Location === '' ? null : told.Location,
      bmc: told.Bmc ?? null,
    }),
    faultsAmong: (entries) => hostFaults(entries, passwords),
  });
