import { hostname } from 'node:os';
import type { Log } from '../adapters/log/port.ts';
import { openKeyRing, type KeyRing } from '../adapters/ssh/key-ring.ts';
import type { Config } from '../config.ts';

/**
 * Our SSH keys from the `ssh` section; creates a missing current key.
 * @throws {UsageError} @throws {Malformed} an unusable file.
 */
export const openSshKeys = (ssh: Config['ssh'], log: Log): Promise<KeyRing> =>
  openKeyRing({ ...sshKeyFiles(ssh), log });

/** Paths of the keys, and their passphrase. */
export const sshKeyFiles = ({ keyPath, previousKeyPaths, keyPassphrase }: Config['ssh']) => ({
  path: keyPath,
  previousPaths: previousKeyPaths,
  comment: `shepherd@${hostname()}`,
  ...(keyPassphrase && { passphrase: () => keyPassphrase.read() }),
});
