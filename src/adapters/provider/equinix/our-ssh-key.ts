import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../driver-kit/call.ts';
import { createKeptKey, fingerprintOfLine, isSameKey } from '../../driver-kit/our-key.ts';
import type { Log } from '../../log/port.ts';
import type { DriverContext, SweepReport } from '../port.ts';
import type { SshKey } from './api.ts';
import type { EquinixClient } from './client.ts';
import type { EquinixConfig } from './settings.ts';

const SWEPT_AGE_MS = 3_600_000;

interface OurSshKeyDeps extends Pick<DriverContext, 'tellEvent'> {
  readonly client: EquinixClient;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly log: Log;
}

/** Our single key at the provider, identified by its label. */
export function createOurSshKey(
  config: EquinixConfig,
  { client, clock, log, tellEvent = () => undefined }: OurSshKeyDeps,
) {
  const { sshKeyLabel: name } = config;
  const kept = createKeptKey<Call>({
    clock,
    key: () => config.publicKeyLine,
    store(call, key) {
      const { previousKeyLines: previousKeys = [] } = config;
      const wanted = { name, nameSetting: 'sshKeyLabel', key, previousKeys };
      return client.ensureSshKey(call, wanted, (previous) => {
        const [from, to] = [previous, key].map(fingerprintOfLine) as [string, string];
        const fields = { provider: config.name, label: name, from, to };
        log.warn(fields, 'an earlier SSH key of ours was replaced');
        const reason = `our SSH key ${name} was renewed: ${to} replaced ${from}`;
        tellEvent({ type: 'provider.ssh_key_replaced', reason, details: { name, from, to } });
      });
    },
  });

  return {
    ...kept,
    /** Removes extra copies of the key, which would make its label ambiguous. */
    async sweep(call: Call, { dryRun }: { readonly dryRun: boolean }): Promise<SweepReport> {
      const keys = await client.listSshKeys(call);
      const copies = keys.filter(
        (each) => each.label === name && isSameKey(each.key, config.publicKeyLine),
      );
      const spare = copies.sort(byAge).slice(1);
      const old = spare.filter((each) => createdAtMs(each) <= clock.now() - SWEPT_AGE_MS);
      if (dryRun || old.length === 0) return removed(old);
      for (const { id } of old) await client.deleteSshKey(call, id);
      // A proxy may have answered "not found", so a key counts as removed only if the list lacks
      // it.
      const left = new Set((await client.listSshKeys(call)).map(({ id }) => id));
      return removed(old.filter(({ id }) => !left.has(id)));
    },
  };
}
export type OurSshKey = ReturnType<typeof createOurSshKey>;

const removed = (keys: readonly SshKey[]): SweepReport => ({
  removed: keys.map(({ id }) => ({ kind: 'ssh-key', id })),
});

/** Oldest first: devices were created with that key. Unknown ages count as young. */
const byAge = (one: SshKey, other: SshKey): number =>
  createdAtMs(one) - createdAtMs(other) || (one.id < other.id ? -1 : 1);
const createdAtMs = ({ created_at: at = '' }: SshKey): number => {
  const parsed = Date.parse(at);
  return Number.isNaN(parsed) ? Number.MAX_SAFE_INTEGER : parsed;
};
