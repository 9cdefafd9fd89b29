import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { OpenRecording } from './inspector-page.tsx';
import { readRecording, recordingOf, type Story } from './story.ts';
import { words } from './words.ts';

/** The field for the machine. The address of the page contains it. */
export function MachineChoice({ slot }: { readonly slot: string }) {
  const navigate = useNavigate();
  const [known, setKnown] = useState(slot);
  const [text, setText] = useState(slot);
  if (known !== slot) {
    setKnown(slot);
    setText(slot);
  }
  const look = () => {
    const wanted = text.trim();
    void navigate({ to: '/inspector', search: wanted === '' ? {} : { slot: wanted } });
  };
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        look();
      }}
    >
      <label>
        {words.machine}{' '}
        <input
          type="search"
          id="filter"
          value={text}
          onChange={({ target }) => setText(target.value)}
          placeholder={words.machineHelp}
          title={words.machineHelp}
          autoComplete="off"
          spellCheck={false}
        />
      </label>{' '}
      <button type="submit">{words.look}</button>
    </form>
  );
}

/** Saves the recording as a file on this computer. */
export const SaveFile = ({ slot, story }: { readonly slot: string; readonly story: Story }) => (
  <button
    type="button"
    disabled={story.messages.length === 0}
    onClick={() => {
      const link = document.createElement('a');
      const file = new Blob([recordingOf(story)], { type: 'application/jsonl' });
      link.href = URL.createObjectURL(file);
      link.download = `${slot || 'supervisor'}.jsonl`.replaceAll(/[^\w.-]+/g, '_');
      link.click();
      URL.revokeObjectURL(link.href);
    }}
  >
    {words.save}
  </button>
);

const FILE_MAX_BYTES = 32 * 1024 * 1024;

/** Opens a recording from this computer. The browser reads it and sends it nowhere. */
export function OpenFile({ take }: { readonly take: (recording: OpenRecording) => void }) {
  const [failure, setFailure] = useState<string | null>(null);
  const open = async (file: File) => {
    setFailure(null);
    try {
      if (file.size > FILE_MAX_BYTES) throw new RangeError(words.tooLarge);
      take({ name: file.name, story: readRecording(await file.text()) });
    } catch (error) {
      setFailure(words.unreadable(file.name, (error as Error).message));
    }
  };
  return (
    <>
      <label className="button file">
        {words.open}
        <input
          type="file"
          accept=".jsonl,application/jsonl"
          onChange={({ target }) => {
            const [file] = target.files ?? [];
            target.value = '';
            if (file) void open(file);
          }}
        />
      </label>
      {failure !== null && (
        <span role="alert" className="calls">
          {failure}
        </span>
      )}
    </>
  );
}
