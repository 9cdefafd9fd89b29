import { mutationsOf } from './mutation.ts';

/** Installations of a rack: claims, seeds, and what is asked of BMCs. */
export const mutations = mutationsOf`
src/adapters/provider/redfish/install/install-mode.ts test/adapters/provider/redfish/install test/adapters/provider/dies-at-every-change.test.ts
  install-anybodys-claim: if ([-claim.witness !== witness || -]claim.set !== instanceSetId) {\n        throw
  install-second-power-on: if (phase === [-'poweringOn' || phase === -]'installing') {
  install-old-secret: claims.replace(claim, { [-tags, -]install }, call.signal)
  install-half-made-is-recorded: [-if (entry && isUnfinished(claim)) return null;-]
  install-half-made-is-no-place: claim[- && !isOursToFinish(claim)-]
  install-left-entries-are-hidden: [-...away.map(shownAway),-]
  install-claim-is-kept: [-        await claims.drop(claim, call.signal);\n-]
src/adapters/provider/redfish/install/endings.ts test/adapters/provider/redfish/install
  install-given-up-under-somebody:
    if ([-(await claims.of(entry.id, signal))?.version === -]claim.version) return;
  install-never-given-up: [-isOver(found) && isUnbegun(found)-]{+false+}
  install-no-window: [-result === null && clock.now() >= install.deadlineMs-]{+false+}
  install-tidies-what-is-begun-anew:
    if (now[-?.result && now.install.tokenSha256 ===-]{+ ||+} tokenSha256) return;
  install-seed-is-kept: [-{ ...install, sealed: null }-]{+install+}
src/adapters/provider/redfish/install/claims.ts test/adapters/provider/redfish/install
  install-stray-marks: [-if (marked.length === 0) -]return;
src/adapters/provider/redfish/install/seed-service.ts test/adapters/provider/redfish/install
  install-mac-answered-twice: isOpen(claim) [-&& !install.isAnswered -]&&
  install-a-reading-for-each-stranger: next [-??-]= last = read();
  install-what-is-new-is-not-looked-for: [-      await next;\n-]
  install-any-seed-key: hkdfSync('sha256', [-secret()-]{+''+},
src/adapters/provider/redfish/install/installation.ts test/adapters/provider/redfish/install
  install-others-images-are-ejected:
    TOKEN.test(token)[- && (isAll || hashOfToken(token) === install.tokenSha256)-]
  install-tidied-as-it-would-be-now: if ([-left.install.-]method === 'vmedia') {
  install-leaves-a-trap: if ([-!call.signal.aborted-]{+at.version === ''+}) await takeBack
src/adapters/provider/redfish/install/media.ts test/adapters/provider/redfish/install
  install-all-extras: !(name in body)[- && new RegExp(\`\\\\b\${name}\\\\b\`).test(message)-]
  install-first-drive-only: [-[400, 404, 405, 409, 422, 501].includes(status)-]{+false+}
  install-cd-by-usb: [-model !== CD_BY_NAME-]{+true+}
  install-any-dell: [-DELL_FIRMWARE.test(firmware)-]{+true+}
`;
