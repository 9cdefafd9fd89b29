import { isApiError } from '../../driver-kit/errors.ts';
import { createLocks } from '../../driver-kit/time-limit.ts';
import type { PoolRef } from '../../../domain/balancing/objects.ts';
import type { Engine } from './engine.ts';

const OURS = 'shepherd-pool=';
/** Tags by which programs mark what is theirs; another one of them means another owner. */
const OWNERS = [OURS, 'anxccm-svc-uid='];

export const tagOf = ({ uid }: PoolRef): string => `${OURS}${uid}`;

/** Whose an object is by its tags. Other tags, such as people put, say nothing of it. */
export function ownerIn(tags: readonly string[], tag: string): 'us' | 'nobody' | 'another' {
  if (tags.some((each) => each !== tag && OWNERS.some((owner) => each.startsWith(owner)))) {
    return 'another';
  }
  return tags.includes(tag) ? 'us' : 'nobody';
}

/** The Engine loses tags that are written at the same time: one by one, in all of this process. */
const LOCKS = createLocks();
const ATTEMPTS_MAX = 3;
const BETWEEN_MS = 1_000;

/**
 * Tags an object; one that has the tag already is tagged. Waits while another is being tagged.
 * @throws {ApiError}
 */
export async function addTag(
  engine: Engine,
  { id, tag }: { readonly id: string; readonly tag: string },
  signal: AbortSignal,
): Promise<void> {
  const call = engine.call('tag', signal);
  const free = await LOCKS.take('tags', signal).catch(() => {
    throw call.error('Cancelled', 'aborted');
  });
  async function isTagged(attempts: number): Promise<boolean> {
    try {
      await engine.postTag(call, id, tag);
      return true;
    } catch (error) {
      if (isStatus(error, 422)) return true;
      // The same tag twice is the same as once.
      const isPassing = isStatus(error, 409) || isApiError(error, 'OutcomeUnknown');
      if (!isPassing || attempts >= ATTEMPTS_MAX) throw error;
      return false;
    }
  }

  try {
    for (let attempts = 1; !(await isTagged(attempts)); attempts++) await call.wait(BETWEEN_MS);
  } finally {
    free();
  }
}

const isStatus = (error: unknown, status: number): boolean =>
  isApiError(error) && error.status === status;
