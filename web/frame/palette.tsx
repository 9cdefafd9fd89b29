import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import { resolved } from '../api/resources.ts';
import { partsOf } from '../parts/machine-link.tsx';
import { texts } from '../texts.ts';
import { MENU } from './navigation.tsx';

interface Choice {
  readonly label: string;
  readonly about: string;
  readonly take: () => void;
}

/** Opens with Ctrl-K on every page. It finds pages by name, and machines by the beginning of a name. */
export function Palette() {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    const take = (event: globalThis.KeyboardEvent) => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener('keydown', take);
    return () => removeEventListener('keydown', take);
  }, []);
  return (
    <>
      <button
        type="button"
        aria-haspopup="dialog"
        className="palette-button"
        onClick={() => setOpen(true)}
      >
        {texts.palette.open} <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      {open && <PaletteDialog close={() => setOpen(false)} />}
    </>
  );
}

function PaletteDialog({ close }: { readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useId();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const choices = useChoices(text.trim());
  const chosen = choices[Math.min(at, choices.length - 1)];
  useEffect(() => dialog.current?.showModal(), []);
  const take = (choice: Choice | undefined) => {
    dialog.current?.close();
    choice?.take();
  };
  const onKey = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) setAt(Math.max(0, Math.min(choices.length - 1, at + by)));
    else if (event.key === 'Enter') take(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} className="palette" aria-label={texts.palette.title} onClose={close}>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-label={texts.palette.title}
        aria-activedescendant={chosen && `${list}-${choices.indexOf(chosen)}`}
        placeholder={texts.palette.placeholder}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setAt(0);
        }}
        onKeyDown={onKey}
        autoComplete="off"
        spellCheck={false}
        autoFocus
      />
      <ul role="listbox" id={list} aria-label={texts.palette.found}>
        {choices.map((choice, index) => (
          <li
            key={`${choice.about} ${choice.label}`}
            id={`${list}-${index}`}
            role="option"
            aria-selected={choice === chosen}
            onClick={() => take(choice)}
          >
            <span>{choice.label}</span> <span className="quiet">{choice.about}</span>
          </li>
        ))}
      </ul>
      {choices.length === 0 && <p className="quiet">{texts.palette.none}</p>}
    </dialog>
  );
}

function useChoices(text: string): readonly Choice[] {
  const navigate = useNavigate();
  const { data } = useQuery(resolved(text));
  const pages = MENU.filter(({ label }) => label.toLowerCase().includes(text.toLowerCase())).map(
    ({ to, label }): Choice => ({
      ...{ label, about: texts.palette.page },
      take: () => void navigate({ to }),
    }),
  );
  const machines = (data ?? []).map(({ slot, by }): Choice => ({
    ...{ label: slot, about: texts.palette.by[by] },
    take: () => void navigate({ to: '/machines/$provider/$slot', params: partsOf(slot) }),
  }));
  const search: Choice = {
    ...{ label: texts.palette.filter(text), about: texts.pages.machines },
    take: () => void navigate({ to: '/machines', search: { filter: text } }),
  };
  return [...pages, ...machines, ...(text === '' ? [] : [search])];
}
