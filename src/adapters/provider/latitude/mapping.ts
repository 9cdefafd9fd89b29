import { isIPv4, isIPv6 } from 'node:net';
import {
  DISPUTED,
  SET_ID_TAG,
  TAG_PREFIX,
  type Tags,
} from '../../../domain/provisioning/provider-tags.ts';
import type { DriverMachine } from '../port.ts';
import type { Server } from './client/schema.ts';
import type { Place } from './names.ts';
import type { Owner } from './ownership.ts';
import { standingOf } from './states.ts';

/** Was given back and is deleted at the end of its billing cycle: it is not ours any more. */
export const LEAVING_TAG = `${TAG_PREFIX}leaving`;

/** What is known of a server besides itself. */
export interface Known {
  /** Null: its name is none of our slots', and no record of ours says which slot it was. */
  readonly slot: string | null;
  readonly owner: Owner;
  readonly remoteUser: string;
  readonly nowMs: number;
  readonly staleOnMs: number;
}

/** A server as the port shows it. */
export function toMachine(server: Server, known: Known): DriverMachine {
  const { owner, slot } = known;
  const { status: state = 'unknown', plan } = server;
  const isNew = owner.kind === 'ours' && known.nowMs - owner.record.writtenAtMs < known.staleOnMs;
  const { status, failed, power } = standingOf(state, isNew);
  return {
    id: server.id,
    reservationId: slot ?? (owner.kind === 'ours' ? owner.record.mark.slot || null : null),
    hostname: server.hostname?.toLowerCase() ?? null,
    plan: plan?.slug ?? slot?.split('/')[0] ?? '',
    location: server.region?.site?.slug ?? server.site ?? slot?.split('/')[1] ?? null,
    address: state === 'starting_deploy' ? null : addressOf(server),
    remoteUser: known.remoteUser,
    availability: 'KnownUsed',
    failed,
    status: isLeaving(owner) ? 'Missing' : status,
    power,
    tags: tagsOf(owner),
    ...leavingAt(server, owner),
  };
}

export const isLeaving = (owner: Owner): boolean =>
  owner.kind === 'ours' && owner.record.mark.tags[LEAVING_TAG] !== undefined;

/** By our own order, where the vendor says when. */
function leavingAt({ scheduled_deletion_at: at = '' }: Server, owner: Owner) {
  const leavesAtMs = Date.parse(at);
  return isLeaving(owner) && !Number.isNaN(leavesAtMs) ? { leavesAtMs } : {};
}

function tagsOf(owner: Owner): Tags {
  if (owner.kind === 'untagged') return {};
  if (owner.kind === 'disputed') return { [SET_ID_TAG]: DISPUTED };
  const { tags } = owner.record.mark;
  return isLeaving(owner) ? { ...tags, [SET_ID_TAG]: DISPUTED } : tags;
}

function addressOf({ primary_ipv4: v4 = '', primary_ipv6: v6 = '' }: Server): string | null {
  if (isIPv4(v4)) return v4;
  const [bare = ''] = v6.split('/');
  return isIPv6(bare) && !bare.includes('%') ? `[${bare}]` : null;
}

/** Free capacity as the port shows it. */
export const toFreeCapacity = ({ slot, plan, site }: Place): DriverMachine => ({
  id: null,
  reservationId: slot,
  plan,
  location: site,
  availability: 'KnownUnused',
});
