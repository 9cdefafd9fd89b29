import { plainText } from '../../../src/lib/texts.ts';

/** The same value with every text made plain, as the database stores it. */
export const plain = <T>(given: T): T => plainly(given) as T;

function plainly(given: unknown): unknown {
  if (typeof given === 'string') return plainText(given);
  if (Array.isArray(given)) return given.map(plainly);
  if (!isPlainObject(given)) return given;
  return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, plainly(value)]));
}

const isPlainObject = (given: unknown): given is object =>
  typeof given === 'object' && given !== null && Object.getPrototypeOf(given) === Object.prototype;

type RepositoryMethod = (...args: readonly unknown[]) => unknown;

/** The same repository; its methods receive plain texts. */
export const plainRepository = <Repository extends object>(repository: Repository): Repository =>
  Object.fromEntries(
    Object.entries(repository).map(([name, value]) => [
      name,
      typeof value === 'function'
        ? (...args: readonly unknown[]) => (value as RepositoryMethod)(...args.map(plainly))
        : value,
    ]),
  ) as Repository;

/** The same repository with a check before each call. The check receives the call's signal. */
export const behind = <Repository extends object>(
  check: (signal?: AbortSignal) => void,
  repository: Repository,
): Repository =>
  Object.fromEntries(
    Object.entries(repository).map(([name, value]: [string, object]) => [
      name,
      typeof value === 'function'
        ? async (...args: readonly unknown[]) => {
            check(args.find((each) => each instanceof AbortSignal));
            return (value as RepositoryMethod)(...args);
          }
        : behind(check, value),
    ]),
  ) as Repository;
