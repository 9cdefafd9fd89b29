import type { MachineId } from '../ids.ts';
import { oneForEachAddress, sameAddress } from './desired.ts';
import type { MemberPass } from './member-pass.ts';
import type { Wish } from './members.ts';

type Serve = Extract<Wish, { want: 'serve' }>;

/** The wishes of all that are or may become members, with what the pool itself has to say. */
export function poolWishes(pass: MemberPass): ReadonlyMap<MachineId, Wish> {
  const { wishes, rows, isTornDown } = pass;
  const all = new Map(wishes);
  for (const { machineId } of rows.values()) {
    if (all.has(machineId)) continue;
    const reason = 'nothing is known of it any more';
    all.set(machineId, { want: 'drop', slot: '' as Wish['slot'], machineId, reason });
  }
  if (isTornDown) {
    for (const [id, { want, slot, machineId }] of all) {
      if (want === 'drop') continue;
      const why = { reason: 'the pool is torn down', force: true, askedAtMs: null } as const;
      all.set(id, { want: 'drain', slot, machineId, ...why, leaves: true });
    }
    return all;
  }
  shareAddresses(pass, all);
  return all;
}

/** One machine is served at each address: a member first, whatever becomes of it, then the lowest id. */
function shareAddresses(pass: MemberPass, all: Map<MachineId, Wish>): void {
  const { rows } = pass;
  const leaveOut = (machineId: MachineId, reason: string) => {
    const parked = { force: false, askedAtMs: null, leaves: true, isUnasked: true } as const;
    all.set(machineId, {
      want: 'drain',
      slot: all.get(machineId)!.slot,
      machineId,
      reason,
      ...parked,
    });
  };
  const served = [...all.values()].filter((wish) => wish.want === 'serve');
  const isMember = ({ machineId }: Serve) =>
    (rows.get(machineId)?.state ?? 'drained') !== 'drained';
  const members = oneForEachAddress(served.filter(isMember));
  for (const [machineId, reason] of members.leftOut) leaveOut(machineId, reason);
  const comers = served.filter((wish) => !isMember(wish));
  if (comers.length === 0) return;
  const taken = new Map([...members.served].map(([machineId, address]) => [address, machineId]));
  const isKnown = addLeaving(pass, all, taken);
  const free: Serve[] = [];
  for (const wish of comers) {
    const { slot, machineId, address } = wish;
    const holder = taken.get(address);
    if (holder !== undefined) leaveOut(machineId, sameAddress(holder, address));
    else if (isKnown) free.push(wish);
    else all.set(machineId, { want: 'keep', slot, machineId, reason: 'its address may be taken' });
  }
  for (const [machineId, reason] of oneForEachAddress(free).leftOut) leaveOut(machineId, reason);
  if (!isKnown && !pass.unreachable) pass.needLook();
}

/** Addresses at which members have servers that are not to serve. @returns false: nobody can tell. */
function addLeaving(
  { rows, sights }: MemberPass,
  all: ReadonlyMap<MachineId, Wish>,
  taken: Map<string, MachineId>,
): boolean {
  for (const { machineId, state } of rows.values()) {
    if (state === 'drained' || all.get(machineId)?.want === 'serve') continue;
    if (sights === null) return false;
    for (const address of sights.get(machineId)?.addresses ?? []) taken.set(address, machineId);
  }
  return true;
}
