import {
  OBJECT_KINDS,
  type ObjectKind,
  type Observed,
  type PoolRef,
  type Ref,
} from '../../../domain/balancing/objects.ts';
import type { Log } from '../../log/port.ts';
import type { Engine, NamedRow, Resource } from './engine.ts';
import { type EngineObject, observedOf, parentOf, TYPE_IDS } from './forms.ts';
import type { Memory } from './memory.ts';
import { ownerIn, tagOf } from './tags.ts';

export interface Observation {
  /** Name of the configured balancer. */
  readonly name: string;
  readonly loadBalancer: string;
  readonly engine: Engine;
  readonly memory: Memory;
  readonly log: Log;
}

/** An object that is ours, or nobody's with our name. */
interface Found {
  readonly ref: Ref;
  readonly object: EngineObject;
  readonly tagged: boolean;
}

/**
 * Reads everything of an owner: what has its tag, and what has none of any owner and our full name.
 * Backends and frontends count where they are of our load balancer; binds and servers where their
 * parent does.
 */
export async function observe(
  scene: Observation,
  owner: PoolRef,
  signal: AbortSignal,
): Promise<readonly Observed[]> {
  const { engine, memory, loadBalancer, log, name } = scene;
  const tag = tagOf(owner);
  const failing = new AbortController();
  const within = AbortSignal.any([signal, failing.signal]);

  async function fetch({ kind, id }: Ref, tagged: boolean): Promise<Found | null> {
    const object = await engine.get(kind, id, within);
    if (!object) memory.forget({ kind, id });
    return object && { ref: { kind, id }, object, tagged };
  }

  /** Nobody's by its tags, unless the list of tags was behind: then it is ours. */
  async function fetchNamed(ref: Ref): Promise<Found | null> {
    const told = await engine.getResource(ref.id, within);
    const whose = told && ownerIn(told.tags ?? [], tag);
    return whose === null || whose === 'another' ? null : fetch(ref, whose === 'us');
  }

  async function kindOf({ identifier, resource_type }: Resource): Promise<ObjectKind | null> {
    const typeId =
      resource_type?.identifier ??
      (await engine.getResource(identifier, within))?.resource_type?.identifier;
    const kind = OBJECT_KINDS.find((each) => TYPE_IDS[each] === typeId) ?? null;
    if (kind === null) {
      const fields = { balancer: name, id: identifier, type: typeId, tag };
      log.warn(fields, 'a resource of another kind has our tag: it is left alone');
    }
    return kind;
  }

  async function fetchTagged(): Promise<readonly Found[]> {
    const rows = await engine.listTagged(tag, within);
    const made = memory.fresh(owner.uid);
    const listed = new Set(rows.map(({ identifier }) => identifier));
    const missing = made.filter(({ ref }) => !listed.has(ref.id));
    const found = await Promise.all([
      ...rows.map(async (row) => {
        const kind = await kindOf(row);
        return kind && fetch({ kind, id: row.identifier }, true);
      }),
      ...missing.map(({ ref, tagged }) => fetch(ref, tagged)),
    ]);
    return found.filter((one) => one !== null);
  }

  /** Below one parent: what has our full name and is not among what is known to be ours. */
  async function fetchNameless(
    kind: ObjectKind,
    filters: Readonly<Record<string, string>>,
    known: ReadonlySet<string>,
  ): Promise<readonly Found[]> {
    const rows = await engine.list(kind, filters, within);
    const named = rows.filter((row) => isFullName(kind, row, owner) && !known.has(row.identifier));
    const found = await Promise.all(
      named.map(({ identifier }) => fetchNamed({ kind, id: identifier })),
    );
    return found.filter((one) => one !== null);
  }

  async function read(): Promise<readonly Observed[]> {
    const tagged = await fetchTagged();
    const known = new Set(tagged.map(({ ref }) => ref.id));
    const atOurs = { load_balancer: loadBalancer };
    const [backends, frontends] = await Promise.all([
      fetchNameless('backend', atOurs, known),
      fetchNameless('frontend', atOurs, known),
    ]);
    const tops = [...tagged, ...backends, ...frontends].filter(
      ({ ref, object }) =>
        (ref.kind === 'backend' || ref.kind === 'frontend') &&
        object.load_balancer === loadBalancer,
    );
    const below = await Promise.all(
      tops.map(({ ref: { kind, id } }) =>
        kind === 'backend'
          ? fetchNameless('server', { backend: id }, known)
          : fetchNameless('bind', { frontend: id }, known),
      ),
    );
    const parents = new Set(tops.map(({ ref }) => ref.id));
    const leaves = [...tagged, ...below.flat()].filter(({ ref: { kind }, object }) => {
      if (kind !== 'bind' && kind !== 'server') return false;
      const parent = parentOf(kind, object);
      return parent !== null && parents.has(parent);
    });
    return [...tops, ...leaves].map((one) => observedOf(one.ref.kind, one.object, one.tagged));
  }

  try {
    const objects = await read();
    memory.observed(owner.uid, objects);
    return objects;
  } finally {
    // What one part of it failed for, the others need not go on for.
    failing.abort();
  }
}

/** `<port>.<suffix>` of the upper two kinds, `<what>.<port>.<suffix>` of the lower two. */
function isFullName(kind: ObjectKind, { name = '' }: NamedRow, { suffix }: PoolRef): boolean {
  if (!name.endsWith(`.${suffix}`)) return false;
  const parts = name.slice(0, -suffix.length - 1).split('.').length;
  return kind === 'backend' || kind === 'frontend' ? parts === 1 : parts >= 2;
}
