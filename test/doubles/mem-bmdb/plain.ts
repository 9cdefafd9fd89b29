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

type BookMethod = (...args: readonly unknown[]) => unknown;

/** The same book; its methods receive plain texts. */
export const plainBook = <Book extends object>(book: Book): Book =>
  Object.fromEntries(
    Object.entries(book).map(([name, value]) => [
      name,
      typeof value === 'function'
        ? (...args: readonly unknown[]) => (value as BookMethod)(...args.map(plainly))
        : value,
    ]),
  ) as Book;

/** The same book with a check before each call. The check receives the call's signal. */
export const behind = <Book extends object>(
  check: (signal?: AbortSignal) => void,
  book: Book,
): Book =>
  Object.fromEntries(
    Object.entries(book).map(([name, value]: [string, object]) => [
      name,
      typeof value === 'function'
        ? async (...args: readonly unknown[]) => {
            check(args.find((each) => each instanceof AbortSignal));
            return (value as BookMethod)(...args);
          }
        : behind(check, value),
    ]),
  ) as Book;
