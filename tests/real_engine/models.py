"""The two models that are served: small enough for one core, and real in their shape. Weights are random.

    FOLDER/venv/bin/python models.py FOLDER    # writes FOLDER/dense and FOLDER/mixture

Both have a tokenizer in which `w0 w1 ...` are one token each. `foretoken register-model FOLDER/dense/config.json` makes
foretoken know them.
"""

import os
import sys

VOCABULARY = 8000
ATTENTION = {"vocab_size": VOCABULARY, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
             "num_key_value_heads": 4, "max_position_embeddings": 4096, "tie_word_embeddings": True, "head_dim": 64,
             "torch_dtype": "bfloat16"}
# About 82 million parameters; and 126 million in half as many layers, of which a token uses 44.
DENSE = {"intermediate_size": 2048}
MIXTURE = {"num_hidden_layers": 6, "intermediate_size": 1024, "num_local_experts": 8, "num_experts_per_tok": 2,
           "sliding_window": None}


def write_tokenizer(folder):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    names = [*(f"w{i}" for i in range(VOCABULARY - 3)), "<unk>", "<s>", "</s>"]
    tokenizer = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>",
                            eos_token="</s>").save_pretrained(folder)


def write_model(folder, config, architecture):
    os.makedirs(folder, exist_ok=True)
    config.architectures = [architecture]
    config.save_pretrained(folder)
    write_tokenizer(folder)


def write_models(folder):
    from transformers import LlamaConfig, MixtralConfig
    write_model(os.path.join(folder, "dense"), LlamaConfig(**ATTENTION | DENSE), "LlamaForCausalLM")
    write_model(os.path.join(folder, "mixture"), MixtralConfig(**ATTENTION | MIXTURE), "MixtralForCausalLM")


if __name__ == "__main__":
    write_models(sys.argv[1])
