import type { Call } from './call.ts';
import { type EquinixError, isEquinixError, isNotFound } from './errors.ts';
import type { Routes } from './routes.ts';
import type { SshKey } from './schema.ts';

/** Same key type and base64 blob; comments and white space are not part of a key. */
export const sameKey = (one: string, other: string): boolean => blobOf(one) === blobOf(other);
const blobOf = (line: string): string => line.trim().split(/\s+/).slice(0, 2).join(' ');

export interface NamedKey {
  readonly label: string;
  /** OpenSSH line. */
  readonly key: string;
}

/**
 * Creates a project key, unless the label already has the same one.
 * @throws {EquinixError} KeyLabelConflict: the label has another key, or several.
 */
export async function createSshKey(routes: Routes, call: Call, wanted: NamedKey): Promise<SshKey> {
  const existing = await findByLabel(routes, call, wanted.label);
  if (existing && sameKey(existing.key, wanted.key)) return existing;
  if (existing) throw call.error('KeyLabelConflict', `label ${wanted.label} has another key`);
  return storeKey(routes, call, wanted);
}

async function storeKey(routes: Routes, call: Call, wanted: NamedKey): Promise<SshKey> {
  try {
    return await routes.postSshKey(call, wanted);
  } catch (error) {
    if (!mayBeStored(error)) throw error;
    const stored = await findByLabel(routes, call, wanted.label);
    if (stored && sameKey(stored.key, wanted.key)) return stored;
    if (error.ambiguous && !stored) return await routes.postSshKey(call, wanted);
    throw error;
  }
}

/** With project tokens the key is stored although the answer says 404. */
const mayBeStored = (error: unknown): error is EquinixError =>
  isEquinixError(error) && error.kind !== 'Cancelled' && (error.ambiguous || isNotFound(error));

/**
 * Changes label or key. Repeatable, so a lost reply is simply sent once more.
 * @throws {EquinixError} InvalidArgument: nothing to change.
 */
export async function updateSshKey(
  routes: Routes,
  call: Call,
  { id, ...change }: { id: string; label?: string; key?: string },
): Promise<SshKey> {
  if (change.label === undefined && change.key === undefined) {
    throw call.error('InvalidArgument', 'neither label nor key is given');
  }
  const patch = (method: 'PATCH' | 'PUT') => routes.patchSshKey(call, id, change, method);
  try {
    return await patch('PATCH');
  } catch (error) {
    // The published description says PUT where clients send PATCH.
    const wrongMethod = isEquinixError(error) && (error.status === 404 || error.status === 405);
    if (wrongMethod) return await patch('PUT');
    if (isEquinixError(error) && error.ambiguous && error.kind !== 'Cancelled') {
      return await patch('PATCH');
    }
    throw error;
  }
}

/** Makes the label hold our key, so that new machines let us in. Resolves with the key's id. */
export async function ensureSshKey(routes: Routes, call: Call, wanted: NamedKey): Promise<string> {
  const existing = await findByLabel(routes, call, wanted.label);
  if (existing && sameKey(existing.key, wanted.key)) return existing.id;
  if (existing) return (await updateSshKey(routes, call, { id: existing.id, key: wanted.key })).id;
  return (await storeKey(routes, call, wanted)).id;
}

async function findByLabel(routes: Routes, call: Call, label: string): Promise<SshKey | undefined> {
  const found = (await routes.listProjectSshKeys(call)).filter((key) => key.label === label);
  if (found.length > 1) {
    throw call.error('KeyLabelConflict', `${found.length} keys have the label ${label}`);
  }
  return found[0];
}
