import { hostname } from 'node:os';
import type { Log } from '../adapters/log/port.ts';
import { openKeyRing, type KeyRing } from '../adapters/ssh/key-ring.ts';
import type { Config } from '../config.ts';

/**
 * Our SSH keys, as the `ssh` section names them; the current one is made if it is not there.
 * @throws {UsageError} @throws {Malformed} a file that cannot be used.
 */
export const openSshKeys = (ssh: Config['ssh'], log: Log): Promise<KeyRing> =>
  openKeyRing({ ...sshKeyFiles(ssh), log });

/** Where they are, and how they are opened. */
export const sshKeyFiles = ({ keyPath, previousKeyPaths, keyPassphrase }: Config['ssh']) => ({
  path: keyPath,
  previousPaths: previousKeyPaths,
  comment: `shepherd@${hostname()}`,
  ...(keyPassphrase && { passphrase: () => keyPassphrase.read() }),
});
