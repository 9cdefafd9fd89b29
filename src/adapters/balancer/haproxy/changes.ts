import { createServer } from 'node:net';
import pLimit from 'p-limit';
import type { PoolRef } from '../../../domain/balancing/objects.ts';
import { Cancelled, RemoteFailure } from '../../../domain/errors.ts';
import { unlessAborted } from '../../../domain/joined.ts';
import type { Candidate, Files } from './files.ts';
import type { Master } from './master.ts';
import {
  emptyFile,
  type End,
  type FileTimes,
  isEmpty,
  isSameShape,
  parse,
  type PoolFile,
  render,
} from './pool-file.ts';

/** Something that is to become of one pool. */
export interface Change {
  readonly owner: PoolRef;
  /** Says in the file what is to be. @throws {RemoteFailure} it cannot be. */
  edit(file: PoolFile): void;
  /** What is to be done at run time once the file says so. */
  atRunTime?(signal: AbortSignal): Promise<void>;
  /** Takes back what `edit` said, where the running program refuses it. */
  undo?(file: PoolFile): void;
}

/** What is known of a pool from its files. */
export interface KnownPool {
  /** What HAProxy is to have. */
  readonly file: PoolFile;
  /** What it has loaded; null: nothing, as far as is known. */
  readonly loaded: PoolFile | null;
  /** What HAProxy would load is this file, and nothing else. */
  readonly isExact: boolean;
}

export interface Changes {
  /** Resolves once HAProxy has it. Changes that wait for each other's reload share one. */
  make(change: Change, signal: AbortSignal): Promise<void>;
  /** Nobody changes anything meanwhile. */
  alone<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>;
  known(owner: PoolRef): Promise<KnownPool>;
  close(): Promise<void>;
}

interface Waiting {
  readonly change: Change;
  readonly signal: AbortSignal;
  resolve(): void;
  reject(error: unknown): void;
}
/** A pool while changes are made to it. */
interface Draft extends KnownPool {
  readonly owner: PoolRef;
  readonly text: string | null;
  readonly loadedText: string | null;
}

export interface ChangesDeps extends FileTimes {
  readonly files: Files;
  readonly master: Master;
}

/**
 * Puts changes in order. The file comes first, checked before it is put in place, then the reload where
 * one is needed, then what is done at run time: whatever ends us in between, the file says what is to be,
 * and a new process of HAProxy comes up like that. Of several changes that wait, one reload is made; if
 * they cannot be made together, each is tried by itself, so that one pool's mistake is not another's.
 */
export function createChanges({ files, master, idleMs }: ChangesDeps): Changes {
  const limit = pLimit(1);
  const closing = new AbortController();
  let queue: Waiting[] = [];
  const textOf = (file: PoolFile, owner: PoolRef) => render(file, owner, { idleMs });

  async function draftOf(owner: PoolRef): Promise<Draft> {
    const { text, loaded: loadedText } = await files.read(owner);
    const loaded = loadedText === null ? null : parse(loadedText);
    // Of a file that was taken away, what was loaded tells what it was.
    const file = text === null ? (loaded ?? emptyFile()) : parse(text);
    const isExact = text === null ? loaded === null : textOf(file, owner) === text;
    return { owner, file, loaded, isExact, text, loadedText };
  }

  async function carryOutAll(): Promise<void> {
    const batch = queue.filter(({ signal, reject }) => {
      if (signal.aborted) reject(new Cancelled('given up before it began'));
      return !signal.aborted;
    });
    queue = [];
    if (batch.length > 0) await carryOut(batch);
  }

  /** Never rejects: each of the batch is told what became of it. */
  async function carryOut(batch: readonly Waiting[]): Promise<void> {
    try {
      // Before anything is written: who cannot be reached is not given another file.
      await master.processes(closing.signal);
      const { done, pools } = await edited(batch);
      if (done.length === 0) return;
      const failure = await apply(pools);
      if (failure === null) for (const each of done) await finish(each);
      else if (done.length === 1) done[0]!.reject(failure);
      else for (const each of done) await carryOut([each]);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  async function edited(batch: readonly Waiting[]) {
    const pools = new Map<string, Draft>();
    const done: Waiting[] = [];
    for (const each of batch) {
      const { owner, edit } = each.change;
      const draft = pools.get(owner.suffix) ?? (await draftOf(owner));
      const file = structuredClone(draft.file);
      try {
        edit(file);
        pools.set(owner.suffix, { ...draft, file });
        done.push(each);
      } catch (error) {
        each.reject(error);
      }
    }
    return { done, pools: [...pools.values()] };
  }

  /** Null: it is done. Otherwise why HAProxy does not take it; then all is as it was. */
  async function apply(pools: readonly Draft[]): Promise<RemoteFailure | null> {
    const candidates = pools.flatMap((draft) => {
      const text = textOf(draft.file, draft.owner);
      return text === draft.text || isNothing(draft) ? [] : [{ owner: draft.owner, text }];
    });
    const reshaped = pools.filter(needsReload);
    if (candidates.length === 0 && reshaped.length === 0) return null;
    try {
      await files.check(candidates, closing.signal);
      await requireFree(newEnds(reshaped));
    } catch (error) {
      if (error instanceof RemoteFailure) return error;
      throw error;
    }
    for (const candidate of candidates) await files.put(candidate);
    if (reshaped.length > 0) {
      const reason = await master.reload(closing.signal);
      if (reason !== null) return putBack(reshaped, reason);
    }
    for (const draft of pools) await settle(draft);
    return null;
  }

  /** A file that HAProxy cannot load must not be there when it is started the next time. */
  async function putBack(pools: readonly Draft[], reason: string): Promise<RemoteFailure> {
    const before: Candidate[] = pools.map(({ owner, file, loaded }) => {
      if (loaded === null || isEmpty(loaded)) return { owner, text: null };
      return { owner, text: textOf(withServersOf(loaded, file), owner) };
    });
    for (const candidate of before) await files.put(candidate);
    // It says what is wrong with everything, where something else than ours is.
    const why = await files.check(before, closing.signal).then(
      () => reason,
      (error: Error) => error.message,
    );
    return new RemoteFailure(`HAProxy could not load it, and goes on as before: ${why}`);
  }

  async function settle(draft: Draft): Promise<void> {
    if (isNothing(draft)) return;
    const { owner, file, loadedText } = draft;
    const text = isEmpty(file) ? null : textOf(file, owner);
    if (text === null) await files.put({ owner, text });
    if (text !== loadedText) await files.remember(owner, text);
  }

  async function finish({ change, resolve, reject }: Waiting): Promise<void> {
    try {
      await change.atRunTime?.(closing.signal);
      resolve();
    } catch (error) {
      const { owner, undo } = change;
      if (undo && error instanceof RemoteFailure) {
        const back = { change: { owner, edit: undo }, signal: closing.signal };
        await carryOut([{ ...back, resolve: () => reject(error), reject: () => reject(error) }]);
      }
      reject(error);
    }
  }

  return {
    known: draftOf,
    make(change, signal) {
      const made = new Promise<void>((resolve, reject) => {
        queue.push({ change, signal, resolve, reject });
      });
      void limit(carryOutAll);
      return cancellable(made, signal);
    },
    alone: (work, signal) => cancellable(limit(work), signal),
    async close() {
      closing.abort(new Cancelled('the balancer is closed'));
      await limit(carryOutAll);
    },
  };
}

const isNothing = ({ file, text, loaded }: Draft): boolean =>
  isEmpty(file) && text === null && loaded === null;

function needsReload(draft: Draft): boolean {
  if (isNothing(draft)) return false;
  return !draft.isExact || !isSameShape(draft.file, draft.loaded ?? emptyFile());
}

/** What was loaded, with the servers as they are to be now: nobody who was drained comes back. */
function withServersOf(loaded: PoolFile, { backends }: PoolFile): PoolFile {
  const result = structuredClone(loaded);
  for (const [name, { check, servers }] of result.backends) {
    const now = backends.get(name)?.servers ?? servers;
    result.backends.set(name, { check, servers: new Map(now) });
  }
  return result;
}

const endsOf = ({ frontends }: PoolFile): End[] =>
  [...frontends.values()].flatMap(({ binds }) => [...binds.values()]);
const keyOf = ({ address, number }: End): string => `${address} ${number}`;

/** Where HAProxy is to listen and did not until now. */
function newEnds(pools: readonly Draft[]): End[] {
  const known = new Set(pools.flatMap(({ loaded }) => (loaded ? endsOf(loaded).map(keyOf) : [])));
  return pools.flatMap(({ file }) => endsOf(file)).filter((end) => !known.has(keyOf(end)));
}

/**
 * HAProxy finds out in the midst of a reload that it cannot listen, and takes nobody in meanwhile. So
 * it is tried before, here: HAProxy runs on the same machine. A port that we may not use is left to it.
 */
async function requireFree(ends: readonly End[]): Promise<void> {
  for (const { address, number } of ends) {
    await new Promise<void>((resolve, reject) => {
      const server = createServer();
      server.once('error', (cause: NodeJS.ErrnoException) => {
        const isTaken = cause.code === 'EADDRINUSE' || cause.code === 'EADDRNOTAVAIL';
        const why = `HAProxy cannot listen at ${address} port ${number} (${cause.code})`;
        if (isTaken) reject(new RemoteFailure(why, { cause }));
        else resolve();
      });
      server.listen({ host: address, port: number, exclusive: true }, () =>
        server.close(() => resolve()),
      );
    });
  }
}

/** What has begun goes on: the file must not be left as nobody knows. */
async function cancellable<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await unlessAborted(answer, signal);
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error;
    throw new Cancelled('given up', { cause: error });
  }
}
