import fc from 'fast-check';
import type { Work, WorkNote } from '../../../../src/adapters/bmdb/port.ts';
import { PROCESS_FOR } from '../../../../src/domain/eligibility.ts';
import type { HeartbeatRecord } from '../../../../src/domain/heartbeat.ts';
import { QUARANTINE_KINDS } from '../../../../src/domain/machine.ts';
import { STANDING_RUNGS, type StandingRung } from '../../../../src/domain/recovery/rungs.ts';
import { KEY } from '../../../contracts/bmdb-rows.ts';
import {
  below,
  DESCRIPTORS,
  idOf,
  machine,
  maybe,
  plain,
  seldom,
  type GeneratedBy,
} from './setting.ts';

/** Notes and ends of a work, and reports of an agent. */

const NOTES = {
  agentStartAttempt: { kind: 'agentStartAttempt' },
  hostKeyProved: { kind: 'agentStartAttempt', hostKey: 'proved-key' },
  recoveryRefused: { kind: 'recoveryRefused', counts: false },
  recoveryDenied: { kind: 'recoveryRefused', counts: true },
  recoveryAccepted: { kind: 'recoveryAccepted', operationRef: 'operation' },
  powerOnAccepted: { kind: 'powerOnAccepted' },
  powerSeenOff: { kind: 'powerSeenOff' },
  deprovisionAsked: { kind: 'deprovisionAsked' },
  controllerResetAsked: { kind: 'controllerResetAsked', controller: 'bmc-0' },
  controllerResetRefused: { kind: 'controllerResetRefused', controller: 'bmc-0' },
} satisfies Record<string, WorkNote>;
export type Note = keyof typeof NOTES | StandingRung;
const ofNoRung = Object.keys(NOTES).filter((each) => !each.startsWith('controller')) as Note[];
export const note = fc.oneof(
  fc.constantFrom(...ofNoRung),
  fc.constantFrom<Note[]>(...STANDING_RUNGS),
);

/** The work of an order takes the notes of an order. */
const orderOf = ({ row: { order }, process: of }: Work) =>
  order && PROCESS_FOR[order.verb] === of ? { order: order.key } : {};
export const noteOf = (of: Note, work: Work): WorkNote =>
  Object.hasOwn(NOTES, of)
    ? NOTES[of as keyof typeof NOTES]
    : { kind: 'recoveryAsked', rung: of as StandingRung, bootId: 'boot-0', ...orderOf(work) };

const descriptor = below(DESCRIPTORS.length);
export const ending = fc.oneof(
  plain({
    finish: fc.constantFrom('nothing', 'agentStarted', 'recovered', 'deprovisioned', 'letGo'),
  }),
  plain({ fail: descriptor }),
  plain({ fail: descriptor, park: fc.constantFrom(...QUARANTINE_KINDS) }),
  plain({ cancel: maybe(fc.constant('no longer wanted')) }),
);
export type Ending = GeneratedBy<typeof ending>;

export async function endWork(work: Work, how: Ending): Promise<void> {
  if ('cancel' in how) return how.cancel === null ? work.cancel() : work.cancel(how.cancel);
  if ('fail' in how) {
    const parked = 'park' in how && { kind: how.park, reason: 'end of the ladder' };
    return work.fail(DESCRIPTORS[how.fail]!, 'no luck', {
      ...orderOf(work),
      ...(parked && { quarantine: parked }),
    });
  }
  switch (how.finish) {
    case 'agentStarted':
      return work.finish({
        ...{ kind: 'agentStarted', publicKey: KEY, bootId: 'boot-1', hostKey: 'host-key' },
        warnings: ['slow disk'],
      });
    case 'recovered':
      return work.finish({
        ...{ kind: 'recovered', coolDown: DESCRIPTORS[1]!, bootSeconds: 90 },
        ...orderOf(work),
      });
    case 'deprovisioned':
    case 'letGo': {
      if (work.process !== 'ShepherdDeprovision') return work.finish({ kind: 'nothing' });
      const bar = { setBy: 'ann', reason: 'given back: x' };
      const letGo = how.finish === 'letGo' && { bar, remark: 'it had no agent' };
      return work.finish({ kind: 'deprovisioned', ...letGo });
    }
    default:
      return work.finish({ kind: 'nothing' });
  }
}

export const beat = plain({
  machine,
  key: seldom('right', fc.constant('wrong')),
  boot: fc.constantFrom(null, 'boot-1', 'boot-2'),
  hardware: fc.boolean(),
  report: maybe(plain({ generation: fc.integer({ min: 1, max: 4 }), success: fc.boolean() })),
});
export const recordOf = (told: GeneratedBy<typeof beat>): HeartbeatRecord => ({
  machineId: idOf(told.machine),
  publicKey: told.key === 'right' ? KEY : new Uint8Array(32).fill(9),
  bootId: told.boot,
  ...(told.hardware && { hardwareReport: new Uint8Array([1]) }),
  ...(told.report && {
    installationReport: {
      generation: BigInt(told.report.generation),
      result: told.report.success ? 'Success' : 'Error',
      raw: new Uint8Array([2]),
    },
  }),
});
