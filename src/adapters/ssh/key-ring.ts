import { dirname } from 'node:path';
import { FleetError, UsageError, explain } from '../../domain/errors.ts';
import { complaintAboutKeepingIn } from '../../settings/file-checks.ts';
import type { Log } from '../log/port.ts';
import { loadOrCreateSshKey, loadSshKey } from './key-file.ts';
import type { SshKey, SshKeyOptions } from './key-file.ts';
import { signersMax } from './limits.ts';

interface KeyRingOptions {
  /** The current key; created at the start if missing. */
  readonly path: string;
  /** Earlier keys; missing files are skipped. */
  readonly previousPaths?: readonly string[];
  readonly comment?: string;
  /** Called at each read of an encrypted key. */
  readonly passphrase?: () => string;
  readonly log: Log;
}

/** Our keys: new machines accept the current one, connections offer all. */
export interface KeyRing {
  /** `authorized_keys` line of the current key; changes with a renewal. */
  readonly publicLine: string;
  /** Lines of the earlier keys; they also change with a renewal. */
  readonly previousLines: readonly string[];
  /** Keys to offer in this order, the current one first; at most five. */
  keys(): readonly SshKey[];
  /**
   * Reads the files again and returns whether anything changed. An unreadable file is logged, and
   * the keys stay as they are; a missing current key is not created again.
   */
  renew(): Promise<boolean>;
}

/**
 * Reads all keys, and creates the current one if it is missing.
 * @throws {UsageError} a file cannot be read or written, is open to others, or has another
 *   passphrase; or there are more than five keys. @throws {Malformed} a file holds no key.
 */
export async function openKeyRing(options: KeyRingOptions): Promise<KeyRing> {
  const { log } = options;
  let keys = await readAll(options, loadOrCreateSshKey);
  tell(log, keys);
  return {
    get publicLine() {
      return keys[0]!.publicLine;
    },
    get previousLines() {
      return keys.slice(1).map(({ publicLine }) => publicLine);
    },
    keys: () => keys,
    async renew() {
      try {
        const read = await readAll(options, loadSshKey);
        const changed = fingerprints(read).join() !== fingerprints(keys).join();
        keys = read;
        if (changed) tell(log, keys);
        return changed;
      } catch (error) {
        log.error(
          { cause: explain(error) },
          'the SSH keys could not be read again; the old ones stay in use',
        );
        return false;
      }
    },
  };
}

/** A fault in one of the ring's files. */
interface KeyComplaint {
  readonly path: string;
  readonly complaint: string;
}

/**
 * Returns all faults that `openKeyRing` would refuse. Only reads: a missing key is not created.
 * @throws errors that are no fault in a file.
 */
export async function complaintsAboutKeys(
  options: Omit<KeyRingOptions, 'log'>,
): Promise<readonly KeyComplaint[]> {
  const { path: current, previousPaths = [] } = options;
  const complaints: KeyComplaint[] = [];
  for (const path of [current, ...previousPaths]) {
    try {
      const key = await loadSshKey(path, readWith(options), () => undefined);
      const missing = !key && path === current ? complaintAboutKeepingIn(dirname(path)) : null;
      if (missing !== null) complaints.push({ path, complaint: `cannot be created: ${missing}` });
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      complaints.push({ path, complaint: explain(error) });
    }
  }
  return complaints;
}

const fingerprints = (keys: readonly SshKey[]): string[] =>
  keys.map(({ fingerprint }) => fingerprint);

/** Logs the line that people put into `authorized_keys` of existing machines. */
function tell(log: Log, keys: readonly SshKey[]): void {
  const [fingerprint, ...previous] = fingerprints(keys);
  const authorizedKey = keys[0]!.publicLine;
  log.info({ fingerprint, previous, authorizedKey }, 'SSH key loaded');
}

async function readAll(
  { path, previousPaths = [], log, ...given }: KeyRingOptions,
  readCurrent: (path: string, options: SshKeyOptions) => Promise<SshKey>,
): Promise<readonly SshKey[]> {
  const options = readWith(given);
  const keys = [await readCurrent(path, options)];
  for (const previous of previousPaths) {
    const key = await loadSshKey(previous, options, () => {
      log.info({ path: previous }, 'a previous SSH key does not exist');
    });
    if (key && !fingerprints(keys).includes(key.fingerprint)) keys.push(key);
  }
  if (keys.length <= signersMax) return keys;
  throw new UsageError(`${keys.length} SSH keys are too many: servers allow ${signersMax} tries`);
}

const readWith = ({
  comment,
  passphrase,
}: Pick<KeyRingOptions, 'comment' | 'passphrase'>): SshKeyOptions => ({
  ...(comment !== undefined && { comment }),
  ...(passphrase && { passphrase: passphrase() }),
});
