import type { Call } from '../../../http/call.ts';
import { isApiError, isNotFound } from '../../../http/errors.ts';
import type { KeyRoutes } from './key-routes.ts';
import { mutate } from '../../../http/mutation.ts';
import type { SshKey } from './schema.ts';

/** Same key type and base64 blob; comments and white space are not part of a key. */
export const sameKey = (one: string, other: string): boolean => blobOf(one) === blobOf(other);
const blobOf = (line: string): string => line.trim().split(/\s+/).slice(0, 2).join(' ');

/** A key of the configured project. */
export interface NamedKey {
  readonly label: string;
  /** OpenSSH line. */
  readonly key: string;
}

/** With project tokens the key is stored although the answer says 404. */
const storeKey = (routes: KeyRoutes, call: Call, { label, key }: NamedKey): Promise<SshKey> =>
  mutate(call, {
    endpoint: 'CreateSSHKey',
    send: () => routes.postSshKey(call, { label, key }),
    look: async () => {
      const value = await findByLabel(routes, call, { label, key });
      if (!value || sameKey(value.key, key)) return value ? { value } : null;
      throw call.error('KeyLabelConflict', `label ${label} has another key`);
    },
    looksAfter: isNotFound,
  });

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
    return sameKey(value.key, change.key) ? { value } : null;
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
 * @throws {ApiError} KeyLabelConflict: several keys that differ have the label.
 */
export async function ensureSshKey(
  routes: KeyRoutes,
  call: Call,
  wanted: NamedKey,
): Promise<string> {
  const existing = await findByLabel(routes, call, wanted);
  if (existing && sameKey(existing.key, wanted.key)) return existing.id;
  const { key } = wanted;
  if (existing) return (await replaceKey(routes, call, { id: existing.id, key })).id;
  return (await storeKey(routes, call, wanted)).id;
}

async function findByLabel(
  routes: KeyRoutes,
  call: Call,
  { label, key: wanted }: NamedKey,
): Promise<SshKey | undefined> {
  const found = (await routes.listProjectSshKeys(call))
    .filter((key) => key.label === label)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  // Daemons that start together may each have stored our key: any of them will do.
  const isOne = found.length <= 1 || found.every(({ key }) => sameKey(key, wanted));
  if (!isOne) {
    throw call.error('KeyLabelConflict', `${found.length} keys have the label ${label}`);
  }
  return found[0];
}
