import { z } from 'zod';
import { DAEMON_ROLES, type DaemonRole } from '../domain/daemons.ts';
import * as leaf from '../settings/leaves.ts';

/** What a daemon does, in the order of the documentation whatever the order of the file. */
export const rolesSchema = () =>
  z
    .array(leaf.choice(DAEMON_ROLES, 'What the daemon does.'), {
      error: `is no list; give some of ${DAEMON_ROLES.join(', ')}`,
    })
    .min(1, { error: `is empty; give some of ${DAEMON_ROLES.join(', ')}, or leave it out` })
    .transform((named) => DAEMON_ROLES.filter((role) => named.includes(role)))
    .meta({
      type: `some of ${DAEMON_ROLES.join(', ')}`,
      description: 'What this daemon does; others of the same database do the rest.',
    })
    .prefault([...DAEMON_ROLES]);

/** What of the configuration says whether roles make sense, whatever else is wrong in it. */
interface Written {
  readonly roles?: unknown;
  readonly database?: { readonly url?: unknown; readonly embedded?: unknown };
  readonly agent?: { readonly endpoint?: unknown };
  readonly balancers?: object;
}

/** Why a daemon with these roles, and this configuration, could do nothing or would do harm; null: neither. */
export function complaintAboutRoles({ roles, database, agent, balancers }: Written): string | null {
  if (!Array.isArray(roles)) return null;
  const has = (role: DaemonRole) => roles.includes(role);
  if (database?.embedded !== undefined && !DAEMON_ROLES.every(has)) {
    return 'leave work to other daemons, and no other one reaches database.embedded; give database.url, or all roles';
  }
  if (has('loops') && !has('agent-server') && agent?.endpoint === undefined) {
    return 'have machines started whose agents do not report here; give agent.endpoint, where they do';
  }
  if (roles.length === 1 && has('balancer') && Object.keys(balancers ?? {}).length === 0) {
    return 'leave nothing to do: no balancers are configured';
  }
  return null;
}
