import { AGENT_START_BACKOFF, RECOVERY_BACKOFF } from '../../src/domain/backoff.ts';
import type { BackoffDescriptor } from '../../src/domain/backoff.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { KEY_HEX, MINUTE } from './bmdb-rows.ts';

const of = (initialS: number, exponent: number, maximumS: number): BackoffDescriptor => ({
  initialMs: initialS * 1000,
  exponent,
  maximumMs: maximumS * 1000,
});
const LARGE = 30 * 24 * 3600;

/** Name, descriptor, stored interval before (seconds), and the waits after consecutive failures. */
export const BACKOFF_TABLE: readonly [string, BackoffDescriptor, number | null, string][] = [
  ['empty', of(0, 0, 0), null, '1 1 1'],
  ['initial only', of(60, 0, 0), null, '60 60 60'],
  ['initial only, after 2 s', of(60, 0, 0), 2, '60 60 60'],
  ['exponent 1', of(60, 1, 600), 7, '60 60 60'],
  ['small growth', of(1, 1.1, LARGE), null, '1 2 3 4 5 6 7 8 9 10 11 13 15 17 19 21 24 27 30 33'],
  ['exact products', of(60, 1.1, 120), null, '60 66 73 81 90 99 109 120 120'],
  ['from a lower wait', of(60, 2, 120), 2, '4 8 16 32 64 120 120'],
  ['up to the maximum', of(1, 2, 5), null, '1 2 4 5 5'],
  ['no initial', of(0, 1.5, 10), null, '1 2 3 5 8 10 10'],
  ['maximum below initial', of(60, 2, 30), null, '60 60 60'],
  ['from above the maximum', of(60, 1.2, 120), 600, '120 120'],
  [
    'agent start',
    AGENT_START_BACKOFF,
    null,
    '300 360 432 519 623 748 898 1078 1294 1553 1864 2237 2685 3222 3867 4641 5570 6684 8021 ' +
      '9626 11552 13863 14400 14400',
  ],
  [
    'recovery',
    RECOVERY_BACKOFF,
    null,
    '60 72 87 105 126 152 183 220 264 317 381 458 550 660 792 951 1142 1371 1646 1976 2372 ' +
      '2847 3417 3600 3600',
  ],
  ['exponent below 1', of(60, 0.2, 600), 2, '60 60'],
  ['broken initial rounds up', of(1.5, 0, 0), null, '2 2'],
  ['broken maximum rounds down', of(1, 2, 2.5), null, '1 2 2'],
];

/** The requested generation, the reported generation and the reported result. */
export type Installing = readonly [number | null, number | null, ('Success' | 'Error')?];

export const installing = ([request, report, result = 'Success']: Installing): Pick<
  MachineRow,
  'installation'
> => ({
  installation: {
    requestGeneration: request === null ? null : BigInt(request),
    handedOutAtMs: null,
    reportGeneration: report === null ? null : BigInt(report),
    reportResult: report === null ? null : result,
  },
});

/** Tags of a machine, by the minutes since its agent was started and last heard. */
export function agentTags(
  nowMs: number,
  started: number | null,
  heard: number | null,
): Pick<MachineRow, 'agentStarted' | 'heartbeat'> {
  const ago = (minutes: number) => nowMs - minutes * MINUTE;
  return {
    agentStarted:
      started === null ? null : { atMs: ago(started), publicKey: KEY_HEX, bootId: 'boot-1' },
    heartbeat: heard === null ? null : { atMs: ago(heard), bootId: 'boot-1' },
  };
}
