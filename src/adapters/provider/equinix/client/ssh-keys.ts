import type { Call } from './call.ts';
import { isEquinixError, isNotFound } from './errors.ts';
import type { KeyRoutes } from './key-routes.ts';
import { mutate } from './mutation.ts';
import type { SshKey } from './schema.ts';

/** Same key type and base64 blob; comments and white space are not part of a key. */
export const sameKey = (one: string, other: string): boolean => blobOf(one) === blobOf(other);
const blobOf = (line: string): string => line.trim().split(/\s+/).slice(0, 2).join(' ');

export interface NamedKey {
  readonly label: string;
  /** OpenSSH line. */
  readonly key: string;
  /** Where it belongs: the configured project if absent, the token's user if null. */
  readonly projectId?: string | null;
}

/**
 * Creates a key, unless the label already has the same one.
 * @throws {EquinixError} KeyLabelConflict: the label has another key, or several that differ.
 */
export async function createSshKey(
  routes: KeyRoutes,
  call: Call,
  wanted: NamedKey,
): Promise<SshKey> {
  return (await findSame(routes, call, wanted)) ?? (await storeKey(routes, call, wanted));
}

/** With project tokens the key is stored although the answer says 404. */
const storeKey = (routes: KeyRoutes, call: Call, wanted: NamedKey): Promise<SshKey> =>
  mutate(call, {
    endpoint: 'CreateSSHKey',
    send: () => {
      const { label, key, projectId } = wanted;
      return routes.postSshKey(call, { label, key }, projectId);
    },
    look: async () => {
      const value = await findSame(routes, call, wanted);
      return value ? { value } : null;
    },
    looksAfter: isNotFound,
  });

/** The key of this label if it is the wanted one, undefined when there is none. */
async function findSame(
  routes: KeyRoutes,
  call: Call,
  wanted: NamedKey,
): Promise<SshKey | undefined> {
  const existing = await findByLabel(routes, call, wanted);
  if (!existing || sameKey(existing.key, wanted.key)) return existing;
  throw call.error('KeyLabelConflict', `label ${wanted.label} has another key`);
}

/** What is to become of a key. */
export interface KeyChange {
  readonly id: string;
  readonly label?: string;
  readonly key?: string;
}

/**
 * Changes label or key. The same change twice is the same as once, so it is repeated until seen.
 * @throws {EquinixError} InvalidArgument: nothing to change.
 */
export async function updateSshKey(
  routes: KeyRoutes,
  call: Call,
  change: KeyChange,
): Promise<SshKey> {
  if (change.label === undefined && change.key === undefined) {
    throw call.error('InvalidArgument', 'neither label nor key is given');
  }
  let method: 'PATCH' | 'PUT' = 'PATCH';
  const send = async (): Promise<SshKey> => {
    try {
      return await routes.changeSshKey(call, change, method);
    } catch (error) {
      // The published description says PUT where clients send PATCH.
      const wrongMethod = isEquinixError(error) && WRONG_METHOD.has(error.status ?? 0);
      if (!wrongMethod || method === 'PUT') throw error;
      method = 'PUT';
      return routes.changeSshKey(call, change, method);
    }
  };
  const look = async () => {
    const value = await routes.getSshKey(call, change.id);
    return agrees(value, change) ? { value } : null;
  };
  return mutate(call, { endpoint: 'UpdateSSHKey', send, look });
}

const WRONG_METHOD: ReadonlySet<number> = new Set([404, 405]);

const agrees = (stored: SshKey, { label, key }: KeyChange): boolean =>
  (label === undefined || stored.label === label) &&
  (key === undefined || sameKey(stored.key, key));

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

/** Makes the label hold our key, so that new machines let us in. Resolves with the key's id. */
export async function ensureSshKey(
  routes: KeyRoutes,
  call: Call,
  wanted: NamedKey,
): Promise<string> {
  const existing = await findByLabel(routes, call, wanted);
  if (existing && sameKey(existing.key, wanted.key)) return existing.id;
  if (existing) return (await updateSshKey(routes, call, { id: existing.id, key: wanted.key })).id;
  return (await storeKey(routes, call, wanted)).id;
}

async function findByLabel(
  routes: KeyRoutes,
  call: Call,
  { label, key: wanted, projectId }: NamedKey,
): Promise<SshKey | undefined> {
  const keys =
    projectId === null
      ? (await routes.listSshKeys(call)).filter((key) => !belongsToProject(key))
      : await routes.listProjectSshKeys(call, projectId === undefined ? {} : { projectId });
  const found = keys
    .filter((key) => key.label === label)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  // Daemons that start together may each have stored our key: any of them will do.
  const isOne = found.length <= 1 || found.every(({ key }) => sameKey(key, wanted));
  if (!isOne) {
    throw call.error('KeyLabelConflict', `${found.length} keys have the label ${label}`);
  }
  return found[0];
}

/** The list for a user holds the keys of its projects too. */
const belongsToProject = ({ entity, owner }: SshKey): boolean =>
  [entity, owner].some((of) => /\/projects\/[^/]+\/?$/.test(of?.href ?? ''));
