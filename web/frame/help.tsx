import { useEffect, useRef, useState } from 'react';
import { useStore } from '../live/store.ts';
import { texts } from '../texts.ts';
import { isOn, KEY_NAMES, setOn, switchedOff, useKeys } from './keys.ts';

/** Shows what each key does and switches keys on and off. The key `?` opens it. */
export function Help() {
  const [open, setOpen] = useState(false);
  useKeys({ '?': () => setOpen(true) });
  return open && <HelpDialog close={() => setOpen(false)} />;
}

function HelpDialog({ close }: { readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useStore(switchedOff);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="help" aria-label={texts.help.title} onClose={close}>
      <h2>{texts.help.title}</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">{texts.help.key}</th>
            <th scope="col">{texts.help.does}</th>
            <th scope="col">{texts.help.on}</th>
          </tr>
        </thead>
        <tbody>
          {KEY_NAMES.map((key) => (
            <tr key={key}>
              <th scope="row">
                <kbd>{key}</kbd>
              </th>
              <td>{texts.help.keys[key]}</td>
              <td>
                <input
                  type="checkbox"
                  aria-label={texts.help.onLabel(key)}
                  checked={isOn(key)}
                  onChange={({ target }) => setOn(key, target.checked)}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <footer>
        <button type="button" onClick={() => dialog.current?.close()} autoFocus>
          {texts.acts.close}
        </button>
      </footer>
    </dialog>
  );
}
