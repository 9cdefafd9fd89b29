import { ProviderError } from '../../../domain/errors.ts';
import type { HostEntry } from './host-entries.ts';

/**
 * Compares a host key with that of the inventory.
 * @param provider name of the configured provider, for messages.
 * @throws {ProviderError} `not-implemented`: the entry has none. `conflict`: it has another.
 */
export function requireListedKey(provider: string, entry: HostEntry, key: Buffer): void {
  if (entry.hostKey === null) throw unknownKey(provider, entry);
  if (Buffer.from(entry.hostKey, 'base64').equals(key)) return;
  throw new ProviderError('conflict', `the inventory has another host key for ${entry.id}`);
}

/** `ssh-keyscan` asks the machine that answers; only its console says whether that is the right one. */
const unknownKey = (provider: string, { id, address, sshPort }: HostEntry): ProviderError =>
  new ProviderError(
    'not-implemented',
    `the inventory has no key for ${id}: run "ssh-keyscan -p ${sshPort ?? 22} -t ed25519 ${address}", ` +
      'compare with "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub" on the machine itself, and give ' +
      `its entry "HostKey": "ssh-ed25519 AAAA…"; or set providers.${provider}.hostKeyPolicy: tofu`,
  );
