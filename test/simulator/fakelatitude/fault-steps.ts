import { expect } from 'vitest';
import type { Latitude } from './harness.ts';

export type Proof = (latitude: Latitude) => Promise<void>;
export type NumberedProof = readonly [number, string, Proof];

export const CUT = /fetch failed|terminated|other side closed/;
export const PATIENT = { unjudged: true } as const;
/** Whether a request is still without an answer after the emulator's `ms`. */
export async function isPending(
  asked: Promise<unknown>,
  { fake }: Latitude,
  ms: number,
): Promise<boolean> {
  let isOver = false;
  const over = () => void (isOver = true);
  void asked.then(over, over);
  await expect.poll(() => fake.requests().some(({ fate }) => fate !== 'replied')).toBe(true);
  await fake.advance(ms);
  return !isOver;
}
/** Names of all servers, whoever may see them. */
export const names = ({ fake }: Latitude) => fake.servers().map(({ hostname }) => hostname);
/** Names that the list shows, page by page. */
export async function pages({ listed }: Latitude, size: number, count: number) {
  const found = [];
  for (let page = 1; page <= count; page++) {
    const { list, meta } = await listed(`&page[size]=${size}&page[number]=${page}`);
    const hostnames = list.map(({ attributes }) => attributes['hostname']);
    found.push({ hostnames, total: meta.stats?.total.count });
  }
  return found;
}
export const FOUR = ['a', 'b', 'c', 'd'];
export async function createFour({ create }: Latitude) {
  for (const hostname of FOUR) await create(hostname);
}
