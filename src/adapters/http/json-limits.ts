/** Levels of objects and arrays in a reply; what APIs and BMCs answer has a dozen. */
const DEPTH_MAX = 100;
/** A listing of 20 000 machines in one reply has fewer. */
const VALUES_MAX = 500_000;

/** What is left of a piece of a text, and what is wrong with the whole text; null: nothing. */
interface Limited {
  readonly kept: readonly Buffer[];
  readonly wrong: string | null;
}

/**
 * Looks at a JSON text while it arrives, before anybody parses it: parsing holds the event loop, and takes
 * seconds for some megabytes of brackets. Whatever lies too deep becomes null, so that one entry that
 * somebody filled with brackets spoils no listing. A text that begins with no bracket passes as it is.
 */
export function createJsonLimits(): (piece: Buffer) => Limited {
  let isBracketed: boolean | null = null;
  let isInString = false;
  let isEscaped = false;
  let depth = 0;
  let values = 0;
  return (piece) => {
    const kept: Buffer[] = [];
    let from = depth > DEPTH_MAX ? piece.length : 0;
    // A `for … of` over a buffer is several times as slow.
    for (let at = 0; at < piece.length && isBracketed !== false; at++) {
      const byte = piece[at]!;
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isInString = false;
        continue;
      }
      if (isBracketed === null && !SPACES.has(byte)) {
        isBracketed = byte === BRACKET || byte === BRACE;
      }
      if (byte === QUOTE) isInString = true;
      else if (byte === BRACKET || byte === BRACE) {
        depth += 1;
        if (depth <= DEPTH_MAX) values += 1;
        else if (depth === DEPTH_MAX + 1) {
          kept.push(piece.subarray(from, at), NULL);
          from = piece.length;
        }
      } else if (byte === BRACKET_END || byte === BRACE_END) {
        depth -= 1;
        if (depth === DEPTH_MAX) from = at + 1;
      } else if (byte === COMMA && depth <= DEPTH_MAX) values += 1;
      if (values > VALUES_MAX) {
        return { kept: [], wrong: `the reply has more than ${VALUES_MAX} values` };
      }
    }
    kept.push(piece.subarray(from));
    return { kept, wrong: null };
  };
}

const NULL = Buffer.from('null');
const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [0x5b, 0x5d, 0x7b, 0x7d];
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);
