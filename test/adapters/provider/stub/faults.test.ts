import { describe, expect, test } from 'vitest';
import { FAULT_KINDS, type FaultKind } from '../../../../src/adapters/provider/stub/fault-kinds.ts';
import { type Proof, callProofs } from './proofs-calls.ts';
import { deviceProofs } from './proofs-devices.ts';
import { listingProofs } from './proofs-listing.ts';
import { machineProofs } from './proofs-machines.ts';

/** One proof of every fault; a fault without one does not compile. */
const PROOFS: Readonly<Record<FaultKind, Proof>> = {
  ...callProofs,
  ...listingProofs,
  ...deviceProofs,
  ...machineProofs,
};

test('there is a proof of every fault, and no other', () => {
  expect(Object.keys(PROOFS).toSorted()).toEqual(FAULT_KINDS.toSorted());
});

describe('every fault does what it says, and is logged and counted', () => {
  test.each(FAULT_KINDS)('%s', async (fault) => {
    const { account, log, metrics, close } = await PROOFS[fault]();
    const { faults } = account;
    const lines = log.lines.filter(({ fields }) => fields['fault'] === fault);
    expect(lines).not.toEqual([]);
    for (const { fields } of lines) {
      expect(fields).toMatchObject({ operation: expect.any(String), call: expect.any(Number) });
    }
    expect(faults.count(fault)).toBe(lines.length);
    expect(faults.used().filter((used) => used.fault === fault)).toHaveLength(lines.length);
    const counted = metrics.calls.filter(({ args }) => args[0] === 'stub' && args[2] === fault);
    expect(counted).toHaveLength(lines.length);
    await close();
  });
});
