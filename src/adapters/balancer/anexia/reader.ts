import {
  OBJECT_KINDS,
  type ObjectKind,
  type PoolRef,
  type Ref,
} from '../../../domain/balancing/objects.ts';
import type { Log } from '../../log/port.ts';
import type { BalancerLook } from '../port.ts';
import type { Engine, KindRow, Resource } from './engine.ts';
import { type EngineObject, placeOf, TYPE_IDS } from './forms.ts';
import type { Memory } from './memory.ts';
import type { Readings } from './readings.ts';
import { ownerIn, tagOf } from './tags.ts';

export interface Observation {
  /** Name of the configured balancer. */
  readonly name: string;
  readonly loadBalancer: string;
  readonly engine: Engine;
  readonly memory: Memory;
  readonly readings: Readings;
  readonly log: Log;
}

/** An object that is ours, or nobody's with our name. */
export interface Found {
  readonly ref: Ref;
  readonly object: EngineObject;
  readonly tagged: boolean;
}

/** One that is ours by its tag, or was just made here. */
export interface Claim {
  readonly ref: Ref;
  readonly tagged: boolean;
}

/** Reads lists and, where rows of lists do not do, objects by themselves; for one look at one owner. */
export function createReader(
  { name, engine, memory, readings, log }: Observation,
  owner: PoolRef,
  { signal: within, mayRecall = false }: BalancerLook,
) {
  const tag = tagOf(owner);
  const since = readings.mark();

  async function fetch(ref: Ref): Promise<EngineObject | null> {
    const object = await engine.get(ref.kind, ref.id, within);
    if (object) readings.keep(owner.uid, object, since);
    else memory.forget(ref);
    return object;
  }

  /** @param place where the list is of that shows the row. */
  async function read(kind: ObjectKind, row: KindRow, place: string): Promise<EngineObject | null> {
    if (row.object && !readings.isDoubtful(row.object)) return row.object;
    const known = mayRecall ? readings.recall(row.identifier) : null;
    const isSame = known?.name === row.name && known !== null && placeOf(kind, known) === place;
    return isSame ? known : fetch({ kind, id: row.identifier });
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

  async function readClaims(): Promise<ReadonlyMap<string, Claim>> {
    const rows = await engine.listTagged(tag, within);
    const made = memory.fresh(owner.uid);
    const kinds = await Promise.all(rows.map(kindOf));
    const claims = new Map(made.map(({ ref, tagged }) => [ref.id, { ref, tagged }]));
    rows.forEach(({ identifier: id }, at) => {
      const kind = kinds[at];
      if (kind) claims.set(id, { ref: { kind, id }, tagged: true });
    });
    return claims;
  }

  /** All of one kind below one place: what is claimed, and what is nobody's and has our full name. */
  async function readBelow(
    kind: ObjectKind,
    filters: Readonly<Record<string, string>>,
    claims: ReadonlyMap<string, Claim>,
  ): Promise<readonly Found[]> {
    const [place = ''] = Object.values(filters);
    const rows = await engine.list(kind, filters, within);
    const found = await Promise.all(
      rows.map(async (row): Promise<Found | null> => {
        const ref = { kind, id: row.identifier };
        const tagged = claims.get(ref.id)?.tagged ?? (await isTaggedNow(kind, row));
        const object = tagged === null ? null : await read(kind, row, place);
        return object && { ref, object, tagged: tagged === true };
      }),
    );
    return found.filter((one) => one !== null);
  }

  /** Of what nobody claims; null: it is not ours. True: the list of tags was behind. */
  async function isTaggedNow(kind: ObjectKind, row: KindRow): Promise<boolean | null> {
    if (!isFullName(kind, row, owner)) return null;
    const told = await engine.getResource(row.identifier, within);
    const whose = told && ownerIn(told.tags ?? [], tag);
    return whose === null || whose === 'another' ? null : whose === 'us';
  }

  /**
   * What is claimed and in none of our lists: it is elsewhere, which is not asked again once it was
   * seen, or the lists are behind.
   */
  async function readUnlisted(
    claims: readonly Claim[],
    isOurs: (kind: ObjectKind, object: EngineObject) => boolean,
  ): Promise<readonly Found[]> {
    const found = await Promise.all(
      claims.map(async ({ ref, tagged }): Promise<Found | null> => {
        const known = readings.recall(ref.id);
        if (known && !isOurs(ref.kind, known)) return null;
        const object = await fetch(ref);
        return object && { ref, object, tagged };
      }),
    );
    return found.filter((one) => one !== null);
  }

  return { readClaims, readBelow, readUnlisted };
}

/** `<port>.<suffix>` of the upper two kinds, `<what>.<port>.<suffix>` of the lower two. */
function isFullName(kind: ObjectKind, { name = '' }: KindRow, { suffix }: PoolRef): boolean {
  if (!name.endsWith(`.${suffix}`)) return false;
  const parts = name.slice(0, -suffix.length - 1).split('.').length;
  return kind === 'backend' || kind === 'frontend' ? parts === 1 : parts >= 2;
}
