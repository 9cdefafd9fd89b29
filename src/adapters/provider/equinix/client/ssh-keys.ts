import type { Call } from '../../../http/call.ts';
import { isApiError, isNotFound } from '../../../http/errors.ts';
import type { KeyRoutes } from './key-routes.ts';
import { fingerprintOfLine, isSameKey, unknownKeyAdvice } from '../../../kit/public-key.ts';
import { mutate } from '../../../http/mutation.ts';
import type { SshKey } from './schema.ts';

/** A key of the configured project. */
export interface NamedKey {
  readonly label: string;
  /** OpenSSH line. */
  readonly key: string;
}

/** The key that a label has to hold. */
export interface WantedKey extends NamedKey {
  /** OpenSSH lines of the earlier keys of ours: only these are replaced. */
  readonly previousKeys?: readonly string[];
  /** Called after an earlier key was replaced, with its OpenSSH line. */
  readonly onReplaced?: (previousKey: string) => void;
}

/** With project tokens the key is stored although the answer says 404. */
const storeKey = (routes: KeyRoutes, call: Call, wanted: WantedKey): Promise<SshKey> => {
  const { label, key } = wanted;
  return mutate(call, {
    endpoint: 'CreateSSHKey',
    send: () => routes.postSshKey(call, { label, key }),
    look: async () => {
      const value = await findByLabel(routes, call, wanted);
      return value && isSameKey(value.key, key) ? { value } : null;
    },
    looksAfter: isNotFound,
  });
};

/** The same change twice is the same as once, so it is repeated until seen. */
async function replaceKey(
  routes: KeyRoutes,
  call: Call,
  change: { readonly id: string; readonly key: string },
): Promise<SshKey> {
  let method: 'PATCH' | 'PUT' = 'PATCH';
  const send = async (): Promise<SshKey> => {
    try {
      return await routes.changeSshKey(call, change, method);
    } catch (error) {
      // The published description says PUT where clients send PATCH.
      const wrongMethod = isApiError(error) && WRONG_METHOD.has(error.status ?? 0);
      if (!wrongMethod || method === 'PUT') throw error;
      method = 'PUT';
      return routes.changeSshKey(call, change, method);
    }
  };
  const look = async () => {
    const value = await routes.getSshKey(call, change.id);
    return isSameKey(value.key, change.key) ? { value } : null;
  };
  return mutate(call, { endpoint: 'UpdateSSHKey', send, look });
}

const WRONG_METHOD: ReadonlySet<number> = new Set([404, 405]);

/** Removes a key; one that is gone already has been removed. */
export async function deleteSshKey(routes: KeyRoutes, call: Call, id: string): Promise<void> {
  const isGone = (request: Promise<unknown>): Promise<boolean> =>
    request.then(
      () => false,
      (error: unknown) => {
        if (isNotFound(error)) return true;
        throw error;
      },
    );
  await mutate(call, {
    endpoint: 'DeleteSSHKey',
    send: async () => void (await isGone(routes.deleteSshKey(call, id))),
    look: async () => ((await isGone(routes.getSshKey(call, id))) ? { value: undefined } : null),
  });
}

/**
 * Makes the label hold our key, so that new machines let us in. Resolves with the key's id.
 * @throws {ApiError} KeyLabelConflict: a key that is not known as ours has the label.
 */
export async function ensureSshKey(
  routes: KeyRoutes,
  call: Call,
  wanted: WantedKey,
): Promise<string> {
  const { key, onReplaced } = wanted;
  const existing = await findByLabel(routes, call, wanted);
  if (!existing) return (await storeKey(routes, call, wanted)).id;
  if (isSameKey(existing.key, key)) return existing.id;
  const { id } = await replaceKey(routes, call, { id: existing.id, key });
  onReplaced?.(existing.key);
  return id;
}

/** The key with the label: ours, or else an earlier one of ours. */
async function findByLabel(
  routes: KeyRoutes,
  call: Call,
  { label, key: wanted, previousKeys = [] }: WantedKey,
): Promise<SshKey | undefined> {
  const found = (await routes.listProjectSshKeys(call))
    .filter((key) => key.label === label)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const unknown = found.find(
    ({ key }) => ![wanted, ...previousKeys].some((ours) => isSameKey(key, ours)),
  );
  if (unknown) {
    throw call.error(
      'KeyLabelConflict',
      `the key with the label ${label} (${unknown.id}, ${fingerprintOfLine(unknown.key)}) is not ours ` +
        `(${fingerprintOfLine(wanted)}): ${unknownKeyAdvice('sshKeyLabel')}`,
    );
  }
  // Daemons that start together may each have stored our key: any of them will do.
  return found.find(({ key }) => isSameKey(key, wanted)) ?? found[0];
}
