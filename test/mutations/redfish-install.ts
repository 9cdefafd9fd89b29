import { mistakesIn, type Mutation } from './mutation.ts';

const INSTALL = 'src/adapters/provider/redfish/install';
const TESTS = ['test/adapters/provider/redfish/install'];

/** Installations of a rack: claims, seeds, and what is asked of BMCs. */
export const mutations: readonly Mutation[] = [
  ...mistakesIn(`${INSTALL}/install-mode.ts`, TESTS, [
    [
      'install-anybodys-claim',
      'if (claim.witness !== witness || claim.set !== instanceSetId) {\n        throw',
      'if (claim.set !== instanceSetId) {\n        throw',
    ],
    [
      'install-second-power-on',
      "if (phase === 'poweringOn' || phase === 'installing') {",
      "if (phase === 'installing') {",
    ],
    [
      'install-old-secret',
      'claims.replace(claim, { tags, install }, call.signal)',
      'claims.replace(claim, { install }, call.signal)',
    ],
    ['install-half-made-is-recorded', 'if (entry && isUnfinished(claim)) return null;', ''],
    ['install-half-made-is-no-place', 'claim && !isOursToFinish(claim)', 'claim'],
    ['install-left-entries-are-hidden', '...away.map(shownAway),', ''],
    ['install-claim-is-kept', '        await claims.drop(claim, call.signal);\n', ''],
  ]),
  ...mistakesIn(`${INSTALL}/endings.ts`, TESTS, [
    [
      'install-given-up-under-somebody',
      'if ((await claims.of(entry.id, signal))?.version === claim.version) return;',
      'if (claim.version) return;',
    ],
    ['install-never-given-up', 'isOver(found) && isUnbegun(found)', 'false'],
  ]),
  ...mistakesIn(`${INSTALL}/stray-marks.ts`, TESTS, [
    ['install-stray-marks', 'if (marked.length === 0) return;', 'return;'],
  ]),
  ...mistakesIn(`${INSTALL}/seed-desk.ts`, TESTS, [
    ['install-mac-answered-twice', 'isOpen(claim) && !install.isAnswered &&', 'isOpen(claim) &&'],
  ]),
  ...mistakesIn(`${INSTALL}/seed-index.ts`, TESTS, [
    ['install-a-reading-for-each-stranger', 'next ??= last = read();', 'next = last = read();'],
    ['install-what-is-new-is-not-looked-for', '      await next;\n', ''],
  ]),
  ...mistakesIn(`${INSTALL}/sealing.ts`, TESTS, [
    ['install-any-seed-key', "hkdfSync('sha256', secret(),", "hkdfSync('sha256', '',"],
  ]),
  ...mistakesIn(`${INSTALL}/installation.ts`, TESTS, [
    [
      'install-others-images-are-ejected',
      'TOKEN.test(token) && (isAll || hashOfToken(token) === install.tokenSha256)',
      'TOKEN.test(token)',
    ],
    [
      'install-tidied-as-it-would-be-now',
      "if (left.install.method === 'vmedia') {",
      "if (method === 'vmedia') {",
    ],
  ]),
  ...mistakesIn(`${INSTALL}/media.ts`, TESTS, [
    [
      'install-all-extras',
      '!(name in body) && new RegExp(`\\\\b${name}\\\\b`).test(message)',
      '!(name in body)',
    ],
    ['install-first-drive-only', '[400, 404, 405, 409, 422, 501].includes(status)', 'false'],
  ]),
  ...mistakesIn(`${INSTALL}/installation.ts`, TESTS, [
    [
      'install-leaves-a-trap',
      'if (!call.signal.aborted) await takeBack',
      "if (at.version === '') await takeBack",
    ],
  ]),
  ...mistakesIn(`${INSTALL}/boot-once.ts`, TESTS, [
    ['install-cd-by-usb', 'model !== CD_BY_NAME', 'true'],
    ['install-any-dell', 'DELL_FIRMWARE.test(firmware)', 'true'],
  ]),
  ...mistakesIn(`${INSTALL}/endings.ts`, TESTS, [
    ['install-no-window', 'result === null && clock.now() >= install.deadlineMs', 'false'],
    [
      'install-tidies-what-is-begun-anew',
      'if (now?.result && now.install.tokenSha256 === tokenSha256) return;',
      'if (now || tokenSha256) return;',
    ],
    ['install-seed-is-kept', '{ ...install, sealed: null }', 'install'],
  ]),
];
