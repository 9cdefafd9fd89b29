import type { FinishChange, Work, WorkNote } from '../../../../src/adapters/bmdb/port.ts';
import { PROCESS_FOR } from '../../../../src/domain/eligibility.ts';
import { KEY } from '../../../contracts/bmdb-rows.ts';
import { descriptorOf } from './commands.ts';
import type { Ending, Note } from './commands.ts';

/** What is told of a work, and how it ends; that of an order, as one. */

const orderOf = ({ row: { order }, process }: Work) =>
  order && PROCESS_FOR[order.verb] === process ? { order: order.key } : {};

export function noteOf(note: Note, work: Work): WorkNote {
  switch (note) {
    case 'agentStartAttempt':
    case 'powerOnAccepted':
    case 'deprovisionAsked':
    case 'powerSeenOff':
      return { kind: note };
    case 'controllerResetAsked':
    case 'controllerResetRefused':
      return { kind: note, controller: 'bmc-0' };
    case 'hostKeyProved':
      return { kind: 'agentStartAttempt', hostKey: 'proved-key' };
    case 'recoveryRefused':
      return { kind: note, counts: false };
    case 'recoveryDenied':
      return { kind: 'recoveryRefused', counts: true };
    case 'recoveryAccepted':
      return { kind: note, operationRef: 'operation' };
    default:
      return { kind: 'recoveryAsked', rung: note, bootId: 'boot-0', ...orderOf(work) };
  }
}

export async function endWork(work: Work, how: Ending): Promise<void> {
  if ('finish' in how) return work.finish(changeOf(how.finish, work));
  if ('cancel' in how) return how.cancel === null ? work.cancel() : work.cancel(how.cancel);
  const quarantine = how.park && { kind: how.park, reason: 'end of the ladder' };
  return work.fail(descriptorOf(how.fail), 'no luck', {
    ...orderOf(work),
    ...(quarantine ? { quarantine } : {}),
  });
}

function changeOf(kind: FinishChange['kind'] | 'letGo', work: Work): FinishChange {
  if (kind === 'deprovisioned' || kind === 'letGo') {
    if (work.process !== 'ShepherdDeprovision') return { kind: 'nothing' };
    const bar = { setBy: 'ann', reason: 'given back: x' };
    return { kind: 'deprovisioned', ...(kind === 'letGo' && { bar, remark: 'it had no agent' }) };
  }
  if (kind === 'nothing') return { kind };
  if (kind === 'recovered') {
    return { kind, coolDown: descriptorOf(1), bootSeconds: 90, ...orderOf(work) };
  }
  return { kind, publicKey: KEY, bootId: 'boot-1', hostKey: 'host-key', warnings: ['slow disk'] };
}
