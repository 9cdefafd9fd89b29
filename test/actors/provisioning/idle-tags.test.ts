import { beforeEach, describe, expect, test } from 'vitest';
import { createIdleTags } from '../../../src/actors/provisioning/updater.ts';
import type { FleetProvider } from '../../../src/adapters/provider/port.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import { slot, type Slot } from '../../../src/domain/ids.ts';
import type { HoldRow, ProviderMachine, SlotFacts } from '../../../src/domain/machine.ts';
import { IDLE_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import {
  deprovisionAsked,
  device,
  hold,
  machineRow,
  provided,
  PROVIDER,
  slotFacts,
} from '../../support/facts.ts';
import { recordingLog, type RecordingLog } from '../../doubles/recording-log.ts';
import { scriptedProvider } from '../../doubles/scripted-provider.ts';
import { advance, createSimulatedClock, type VirtualClock } from '../../doubles/simulated-clock.ts';

const MINUTE = 60_000;
let clock: VirtualClock;
let log: RecordingLog;
let facts: Map<Slot, SlotFacts>;
let written: string[];
let failure: Error | null;
let provider: FleetProvider;
let round: () => Promise<void>;

beforeEach(() => {
  clock = createSimulatedClock();
  log = recordingLog();
  [facts, written, failure] = [new Map(), [], null];
  provider = scriptedProvider({
    setTags: async (id, tags) => {
      written.push(`${id} ${JSON.stringify(tags)}`);
      if (failure) throw failure;
    },
  });
  const idle = createIdleTags({
    facts: () => facts,
    nowMs: clock.now,
    clock,
    log,
    holds: { guard: (_, __, ask) => ask() },
  });
  round = () => idle(provider, new AbortController().signal);
});

function given(
  at: number,
  holds: HoldRow[],
  { tag, listed = {}, row = {} }: { tag?: string; listed?: Partial<ProviderMachine>; row?: object },
) {
  const [providerId, reservationId] = [`device-${at}`, `rack-${at}`];
  const name = slot(PROVIDER, reservationId);
  const tags = tag === undefined ? {} : { [IDLE_TAG]: tag };
  facts.set(
    name,
    slotFacts({
      slot: name,
      holds,
      row: machineRow({ provided: provided({ providerId, reservationId }), ...row }),
      listed: device({ id: providerId, reservationId, tags, ...listed }),
    }),
  );
}
const set = (at: number, behaviour: string) => `device-${at} {"${IDLE_TAG}":"${behaviour}"}`;

describe('the tag of a device', () => {
  test('is written when it differs from the holds', async () => {
    given(1, [hold('preserve')], {});
    given(2, [hold('no-start')], { tag: 'hold' });
    given(3, [], { tag: 'drain' });
    await round();
    expect(written).toEqual([set(1, 'hold'), set(2, 'drain'), set(3, 'run')]);
  });

  test('is left alone when it matches, or both are empty', async () => {
    given(1, [hold('no-recover')], { tag: 'hold' });
    given(2, [], {});
    given(3, [hold('preserve', clock.now())], { tag: 'run' });
    await round();
    expect(written).toEqual([]);
  });

  test.each<readonly [string, object]>([
    ['that is not ours', { listed: { ownership: 'foreign' } }],
    ["that is not the machine's", { listed: { id: 'another' } }],
    ['that is going back', { row: { deprovision: deprovisionAsked() } }],
  ])('%s is left alone', async (_, change) => {
    given(1, [hold('preserve')], change);
    await round();
    expect(written).toEqual([]);
  });

  test('is left alone where the provider has no tags', async () => {
    provider = { ...provider, capabilities: { ...provider.capabilities, tags: false } };
    given(1, [hold('preserve')], {});
    await round();
    expect(written).toEqual([]);
  });

  test('is written once, however long listings lag', async () => {
    given(1, [hold('preserve')], {});
    for (let at = 0; at < 5; at += 1) {
      await round();
      await advance(clock, MINUTE);
    }
    expect(written).toHaveLength(1);
  });

  test('is tried again later after a failed write, without delaying others', async () => {
    given(1, [hold('preserve')], {});
    given(2, [hold('preserve')], {});
    failure = new ProviderError('transient', 'no provider');
    await round();
    expect(written).toHaveLength(2);
    expect(log.count('the idle behaviour could not be tagged; it is retried later')).toBe(2);
    failure = null;
    await round();
    expect(written).toHaveLength(2);
    await advance(clock, 11 * MINUTE);
    await round();
    expect(written).toHaveLength(4);
  });
});
