import { expect, test } from 'vitest';
import { parseShown } from '../../web/api/shown.ts';

test('replaces characters that hide or reverse text by their codes, everywhere in an answer', () => {
  const said = 'rack\u202egpj.exe\u2066\u200b\u0007\u001b[2J';
  const shown = 'rack\\u{202e}gpj.exe\\u{2066}\\u{200b}\\u{7}\\u{1b}[2J';
  const answer = { reason: said, lines: [{ cause: said }], count: 1, none: null };
  const expected = { reason: shown, lines: [{ cause: shown }], count: 1, none: null };
  expect(parseShown(JSON.stringify(answer))).toEqual(expected);
});

test('keeps line breaks and all characters that names may contain', () => {
  const answer = ['two\nlines\tand a tab', 'rack\u00a01', 'ᄀ\u3164', 'بيت', 'çé漢字', '👍🏽'];
  expect(parseShown(JSON.stringify(answer))).toEqual(answer);
});
