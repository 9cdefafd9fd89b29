import {
  CHECK_STATUSES,
  type AcceptanceCheck,
  type AcceptanceProfile,
  type AcceptanceReport,
  type AcceptanceRequest,
  type Inventory,
} from '../../domain/acceptance.ts';
import { plainText } from '../../lib/texts.ts';
import {
  acceptanceRequestCodec,
  acceptanceResultCodec,
  hasAtMostFields,
  WireError,
  type WireProfile,
} from '../../wire/codec.ts';

/** Requests and results of acceptances on the wire, where 0 means absent. */

export const writeAcceptanceRequest = ({ id, profile }: AcceptanceRequest): Uint8Array =>
  acceptanceRequestCodec.encode({ id, profile: toWire(profile) });

const toWire = (profile: AcceptanceProfile): WireProfile => ({
  memoryGib: profile.memoryGiB ?? 0,
  cpus: profile.cpus ?? 0,
  disks: (profile.disks ?? []).map(({ sizeGB, count }) => ({ sizeGb: sizeGB, count })),
  networkMbps: profile.networkMbps ?? 0,
  readMegabytes: profile.readMBps ?? 0,
});

const RESULT_MAX_BYTES = 64 * 1024;
const CHECKS_MAX = 256;
const FIELDS_MAX = 4_096;
const RESULT_SHAPE = { 2: {}, 3: { 3: {} } };
const NAME_MAX = 64;
const TEXT_MAX = 200;
/** As in `Check.Status` of the protocol. */
const STATUSES = ['unknown', 'ok', 'failed'] as const;

/** Reads a result of an agent, which is not trusted; null: it may not be stored. */
export function readAcceptanceResult(raw: Uint8Array): AcceptanceReport | null {
  if (raw.length > RESULT_MAX_BYTES) return null;
  try {
    if (!hasAtMostFields(raw, RESULT_SHAPE, FIELDS_MAX)) return null;
    const { id, check, found } = acceptanceResultCodec.decode(raw);
    if (!id || id < 1n || (check ?? []).length > CHECKS_MAX) return null;
    const checks = (check ?? []).map((each): AcceptanceCheck => ({
      name: lineOf(each.name, NAME_MAX),
      expected: lineOf(each.expected, TEXT_MAX),
      found: lineOf(each.found, TEXT_MAX),
      status: CHECK_STATUSES.find((one) => one === STATUSES[each.status ?? 0]) ?? 'unknown',
    }));
    return { id, checks, found: inventoryOf(found ?? {}) };
  } catch (error) {
    if (error instanceof WireError) return null;
    throw error;
  }
}

const lineOf = (text: string | null | undefined, max: number): string =>
  plainText((text ?? '').replaceAll(/\s+/g, ' '), max);

function inventoryOf({ memoryGib, cpus, disks, networkMbps }: WireProfile): Inventory {
  const known = (disks ?? []).flatMap(({ sizeGb = 0, count = 0 }) =>
    isSize(sizeGb) && isSize(count) ? [{ sizeGB: sizeGb, count }] : [],
  );
  return {
    ...(isSize(memoryGib) && { memoryGiB: memoryGib }),
    ...(isSize(cpus) && { cpus }),
    ...(known.length > 0 && { disks: known }),
    ...(isSize(networkMbps) && { networkMbps }),
  };
}

const isSize = (value: number | null | undefined): value is number =>
  Number.isFinite(value) && (value ?? 0) > 0;
